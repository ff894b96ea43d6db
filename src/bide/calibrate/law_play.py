"""The measured requests of a run, played through the simulator with a step law, and how far off their times are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.calibrate.own_fit import REPEAT
from bide.physics.own import StepLaw
from bide.records import RequestTable
from bide.simulate.scheduler.config import SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.requests import Requests
from bide.simulate.scheduler.simulate import simulate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_REQUESTS = 4000
"""Of a run that are played in each turn."""
_FURTHEST = 0.5
"""Log error of a played request beyond which it has no pull: its times are not of this server's making."""


@dataclass(frozen=True, slots=True, eq=False)
class Play:
    """A run's requests as the simulator takes them, and what was measured of them."""

    requests: Requests
    sent_s: Floats
    ttft_s: Floats
    e2e_s: Floats
    later: Floats
    weight: float


def early_s(plays: Sequence[Play], law: StepLaw, config: SchedulerConfig) -> float:
    """How much too early first tokens come, in the middle: what is outside the steps moves all of them alike.

    Runs count by how sure their median is.
    """
    import numpy as np

    off = [play.ttft_s - _played(play, law, config)[0] for play in plays]
    middles = np.array([np.median(each) for each in off])
    spreads = np.array([np.median(np.abs(each - np.median(each))) for each in off])
    weights = np.array([len(each) for each in off]) / np.maximum(spreads, 1e-5) ** 2
    return float((middles * weights).sum() / weights.sum())


def play_of(table: RequestTable, config: SchedulerConfig) -> Play | None:
    """The requests that went well, as they were sent; None where too few are left."""
    import numpy as np

    ok = (table.status == "ok") & np.isfinite(table.sent_s) & np.isfinite(table.first_token_s)
    ok &= (table.output_tokens > 0) & (table.prompt_tokens > 0)
    ok &= table.prompt_tokens + table.output_tokens <= config.max_model_len
    rows = np.flatnonzero(ok)
    rows = rows[np.argsort(table.sent_s[rows], kind="stable")][:_MOST_REQUESTS]
    if len(rows) < 3:
        return None
    sent = table.sent_s[rows] - table.sent_s[rows][0]
    requests = Requests.of(sent, table.prompt_tokens[rows], table.output_tokens[rows])
    first, last = table.first_token_s[rows] - table.sent_s[rows], table.last_token_s[rows] - table.sent_s[rows]
    later = (table.output_tokens - table.first_chunk_tokens)[rows].astype(np.float64)
    return Play(requests, sent, first, last, later, len(rows) ** -0.5)


def _played(play: Play, law: StepLaw, config: SchedulerConfig) -> tuple[Floats, Floats]:
    """TTFT and E2E of every request."""
    cost = StepCost.affine(law.fixed_s, law.per_token_s, law.per_kv_token_s, law.per_sequence_s, config.token_budget)
    made = simulate(config, cost, play.requests)
    return made.first_token_s - play.sent_s + law.request_s, made.finish_s - play.sent_s + law.request_s


def play_errors(play: Play, law: StepLaw, config: SchedulerConfig) -> Floats:
    """Logarithms of predicted / measured: TTFT counts as much less as it repeats worse."""
    import numpy as np

    ttft, e2e = _played(play, law, config)
    several = play.later > 0
    tpot = np.log(np.maximum((e2e - ttft)[several], 1e-9) / np.maximum((play.e2e_s - play.ttft_s)[several], 1e-9))
    first = np.log(np.maximum(ttft, 1e-9) / np.maximum(play.ttft_s, 1e-9)) * (REPEAT["tpot_s"] / REPEAT["ttft_s"])
    errors = np.clip(np.nan_to_num(np.concatenate([tpot, first])), -_FURTHEST, _FURTHEST)
    return np.asarray(errors * play.weight)
