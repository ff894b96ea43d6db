"""What is shown of a replica at a rate: no more than what is promised at a higher one."""

from collections.abc import Iterator

import pytest

from bide.facts.gpus import find_gpu
from bide.facts.hf import from_config
from bide.plan.asks import Asks, Probe
from bide.plan.candidate import Candidate, End, candidates
from bide.plan.capacity import Capacity
from bide.plan.question import Hardware, Limit, Measure, Service, Traffic
from bide.plan.reading import read_replica
from bide.workload.lengths import described_workload
from made_profile import profile
from plan_inputs import LLAMA

TPOT = Measure("tpot", 95.0)
WORK = described_workload({"prompt": 1000, "output": 100}, "lengths")


class Scattered(Capacity):
    """By chance other runs stay below 62 ms at 4 requests/s, below 49 ms at 5, and both ends are as the likely one."""

    def value(self, requests_per_s: float, probe: Probe, end: End = "likely", replicas: int = 1) -> float:
        return {4.0: 0.062, 5.0: 0.049}[requests_per_s] if probe.measure == TPOT else 0.1

    def halving(self, asks: Asks, end: End = "likely", replicas: int = 1) -> Iterator[tuple[float, float]]:
        yield from ((0.0, 10.0), (2.0, 10.0), (5.0, 10.0), (5.0, 8.0))


def scattered() -> Scattered:
    limits = (Limit(Measure("ttft", 95.0), 1.0), Limit(TPOT, 0.05))
    asked = Service("chat", from_config(LLAMA, "llama"), WORK, Traffic(4.0), limits, {"tp": 1, "max_num_seqs": 64})
    found = next(candidates(asked, Hardware((find_gpu("h100-sxm"),), 8), profile()))
    assert isinstance(found, Candidate)
    return Scattered(found)


@pytest.mark.parametrize(
    ("kept", "likely", "high"),
    [((), 0.062, 0.062), (("likely",), 0.049, 0.062), (("likely", "slow"), 0.049, 0.049)],
)
def test_what_is_kept_at_a_higher_rate_is_not_shown_beyond_its_limit(
    kept: tuple[End, ...], likely: float, high: float
) -> None:
    shown = read_replica(scattered(), 4.0, 1, kept).seconds[TPOT]
    assert shown is not None
    assert (shown.mid, shown.high) == (likely, high)
