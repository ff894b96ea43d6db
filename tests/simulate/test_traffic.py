"""A trace played as recorded, faster, longer; and its blocks in the scheduler's size."""

from __future__ import annotations

import numpy as np
import pytest

from bide.errors import BadInput
from bide.simulate.fleet.traffic import requests_of, servable
from bide.sourced import Source
from bide.workload.blocks import Blocks
from bide.workload.trace import Trace
from bide.workload.traffic import traffic_of
from made_fleets import setup


def _trace(times: list[float] | None, outputs: list[int], blocks: Blocks | None = None) -> Trace:
    arrivals = None if times is None else np.array(times)
    return Trace(np.full(len(outputs), 40), np.array(outputs), arrivals, Source("made"), blocks)


def test_requests_without_an_answer_are_left_out_and_counted() -> None:
    traffic = traffic_of(_trace([0.0, 1.0, 2.0], [5, 0, 7]))
    assert traffic.arrival_s.tolist() == [0.0, 2.0]
    assert "1 request without output" in traffic.notes[0]


def test_a_rate_or_a_scale_plays_it_faster() -> None:
    trace = _trace([0.0, 1.0, 2.0], [5, 5, 5])
    assert traffic_of(trace, rate=4.0).arrival_s.tolist() == [0.0, 0.25, 0.5]
    assert traffic_of(trace, scale=2.0).arrival_s.tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(BadInput):
        traffic_of(trace, rate=4.0, scale=2.0)


def test_a_short_trace_is_played_again_with_prefixes_of_its_own() -> None:
    """Two requests a second apart: rounds follow every 2 s, and the second round shares nothing with the first."""
    trace = _trace([0.0, 1.0], [5, 6], Blocks.of([[7, 8], [7, 9]], 16))
    traffic = traffic_of(trace, requests=5)
    assert traffic.arrival_s.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert traffic.output_tokens.tolist() == [5, 6, 5, 6, 5]
    assert traffic.blocks is not None
    assert [traffic.blocks.chain(n).tolist() for n in range(3)] == [[0, 1], [0, 2], [3, 4]]


def test_without_times_a_rate_is_needed() -> None:
    with pytest.raises(BadInput) as error:
        traffic_of(_trace(None, [5, 5]))
    assert error.value.field == "rate"
    assert len(traffic_of(_trace(None, [5, 5]), rate=2.0)) == 2


def test_shared_blocks_come_in_the_schedulers_size_and_only_full_ones() -> None:
    """Prompts of 40 tokens in recorded blocks of 32: one full block of 32, two of 16; the rest of 8 is no block."""
    trace = _trace([0.0, 1.0, 2.0], [5, 5, 5], Blocks.of([[1, 2], [1, 3], [4, 5]], 32))
    requests = requests_of(traffic_of(trace), setup(caching=True).config)
    assert requests.content_starts.tolist() == [0, 2, 4, 4]
    assert requests.content_ids.tolist() == [0, 1, 0, 1]


def test_what_the_pool_cannot_hold_alone_is_not_servable() -> None:
    """10 usable blocks of 16 hold 160 tokens."""
    traffic = traffic_of(_trace([0.0, 1.0], [120, 121]))
    assert servable(traffic, setup(num_blocks=11).config).tolist() == [True, False]
