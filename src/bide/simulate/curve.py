"""Curves of latency against throughput: points of deployments under load, many at once, and what they say together."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from bide.errors import CannotBeMet
from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.physics.cautions import speed_cautions
from bide.physics.nearness import factors, step_assumption
from bide.physics.own import with_own_pool
from bide.physics.profile import Profile, load_profile
from bide.simulate.cases import Case, case_of, draft_assumptions
from bide.simulate.operating import Bound, Curve, Load, Mix, Parts, Point
from bide.simulate.solved import largest_part, solve
from bide.simulate.step_tables import Origin, Steps

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Asked = tuple[Deployment, Mix, Load]
Wide = Mapping[str, tuple[float, float]]
"""By metric: factors on a prediction for its 10th and 90th percentile."""
_BEYOND = 2
"""Doublings of the load beyond what the pool holds that a curve shows."""
_KNEE_LOADS = 48
_OPEN_WAITING = 1.0
"""Requests that wait for a place on average, from which places are what binds an open loop; now and then one waits."""


def points(
    asked: Sequence[Asked], profile: Path | None = None, *, records: bool = False, steps: Steps = "roofline"
) -> list[Point]:
    """The steady state of each deployment, mix and load, in order.

    `records`: each is a record of something that was run, so that a version it does not state is unknown
    rather than the newest. Raises CannotBeMet for a deployment that does not fit, BadInput for a profile.
    """
    found = load_profile(profile)
    cases = [
        case_of(with_own_pool(deployment, found.own, found.name), not records or _is_stated(deployment))
        for deployment, _mix, _load in asked
    ]
    mixes, loads = [mix for _d, mix, _l in asked], [load for _d, _m, load in asked]
    return _points(found, cases, mixes, loads, steps)


def _is_stated(deployment: Deployment) -> bool:
    return all(assumption.name != "engine_version" for assumption in deployment.assumptions)


def _points(
    profile: Profile, cases: Sequence[Case], mixes: Sequence[Mix], loads: Sequence[Load], steps: Steps
) -> list[Point]:
    solved = solve(profile, cases, mixes, loads, steps)
    wide: dict[int, Wide] = {}
    for case in cases:
        if id(case) not in wide:
            wide[id(case)] = _wide(profile, case)
    each = zip(cases, mixes, loads, solved.rows(), strict=True)
    return [_point(case, mix, load, row, wide[id(case)]) for case, mix, load, row in each]


def _wide(profile: Profile, case: Case) -> Wide:
    return factors(profile, case.deployment, case.stated)


def _point(case: Case, mix: Mix, load: Load, row: dict[str, float], wide: Wide) -> Point:
    unstable = load.kind == "requests_per_s" and load.value >= row["highest"]
    times = {
        "ttft_s": None if unstable else row["ttft_s"],
        "tpot_s": row["tpot_s"] if mix.output_tokens > 1 else None,
        "e2e_s": None if unstable else row["e2e_s"],
    }
    return Point(
        mix=mix,
        load=load,
        bound=_bound(case, mix, load, row, unstable),
        running_requests=row["running"],
        waiting_requests=row["waiting"],
        requests_per_s=row["requests_per_s"],
        output_tokens_per_s=row["requests_per_s"] * mix.output_tokens,
        highest_requests_per_s=row["highest"],
        itl_s=row["decode_s"],
        tpot_parts=_tpot_parts(row),
        ttft_parts=None if unstable else _ttft_parts(row),
        interval=_interval(times, mix, load, row, wide),
        warnings=_warnings(case, mix, load, row, wide),
        **times,
    )


def _bound(case: Case, mix: Mix, load: Load, row: dict[str, float], unstable: bool) -> Bound:
    if unstable:
        return "unstable"
    if row["waiting"] > (_OPEN_WAITING if load.kind == "requests_per_s" else 0.0):
        if row["places"] < case.slots(mix):
            return "prefill"
        return "memory" if case.pool_requests(mix) < case.most_requests else "max_num_seqs"
    return largest_part(row)


def _tpot_parts(row: dict[str, float]) -> Parts:
    names = ("weights_s", "kv_s", "compute_s", "network_s", "overhead_s", "prefill_s")
    return Parts(*(row[name] for name in names))


def _ttft_parts(row: dict[str, float]) -> Parts:
    own_s = row["own_prefill_s"] - row["own_network_s"] - row["own_overhead_s"]
    return Parts(0.0, 0.0, own_s, row["own_network_s"], row["own_overhead_s"] + row["request_s"], 0.0, row["queue_s"])


def _interval(
    times: Mapping[str, float | None], mix: Mix, load: Load, row: dict[str, float], wide: Wide
) -> dict[str, tuple[float, float]]:
    """10th and 90th percentile of what is there; a rate that is offered is met unless the capacity is below it."""
    found = {name: (v * wide[name][0], v * wide[name][1]) for name, v in times.items() if v is not None}
    low, high = wide["output_tokens_per_s"]
    rate = row["requests_per_s"]
    ends = (rate * low, rate * high)
    if load.kind == "requests_per_s":
        ends = (min(load.value, row["highest"] * low), min(load.value, row["highest"] * high))
    found["requests_per_s"] = ends
    found["output_tokens_per_s"] = (ends[0] * mix.output_tokens, ends[1] * mix.output_tokens)
    return found


def _warnings(case: Case, mix: Mix, load: Load, row: dict[str, float], wide: Wide) -> tuple[str, ...]:
    found = list(case.deployment.warnings)
    total = mix.prompt_tokens + mix.output_tokens
    if total > case.deployment.max_model_len:
        text = _("prompt + output = {total:,.0f} tokens, more than max_model_len {limit:,}: the engine refuses it")
        found.append(text.format(total=total, limit=case.deployment.max_model_len))
    if case.pool_requests(mix) < 1:
        found.append(_("the cache pool does not hold one request of this length"))
    if load.kind == "requests_per_s":
        low, high = wide["output_tokens_per_s"]
        if load.value >= row["highest"] > load.value / high:
            found.append(_("within the error of the prediction this rate may still be held"))
        elif row["highest"] > load.value >= row["highest"] * low:
            found.append(_("within the error of the prediction this rate may be too high"))
    return tuple(found)


def curve_of(
    deployment: Deployment,
    mix: Mix,
    loads: Sequence[Load] | None = None,
    profile: Path | None = None,
    steps: Steps = "roofline",
) -> Curve:
    """The curve of `deployment` for requests of `mix`.

    Without `loads` a closed loop of 1, 2, 4, ... clients up to what the pool holds and two doublings
    beyond, and the knee. Raises CannotBeMet where the deployment does not fit, BadInput for a profile.
    """
    made = curves_of([(deployment, mix)], loads, profile, steps)[0]
    if isinstance(made, CannotBeMet):
        raise made
    return made


def curves_of(
    asked: Sequence[tuple[Deployment, Mix]],
    loads: Sequence[Load] | None = None,
    profile: Path | None = None,
    steps: Steps = "roofline",
) -> list[Curve | CannotBeMet]:
    """The same of several, all solved at once; in the place of one that does not fit, why."""
    found = load_profile(profile)
    each = [_asked_of(with_own_pool(deployment, found.own, found.name), mix, loads) for deployment, mix in asked]
    fit = [one for one in each if isinstance(one, _Asked)]
    if not fit:
        return [one for one in each if isinstance(one, CannotBeMet)]
    rows = [(one, load) for one in fit for load in (*one.shown, *one.tried)]
    solved = solve(
        found, [one.case for one, _load in rows], [one.mix for one, _load in rows], [load for _one, load in rows], steps
    )
    states = zip(solved.rows(), solved.origins, strict=True)
    return [one if isinstance(one, CannotBeMet) else _curve(found, one, states) for one in each]


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A curve before it is solved: the loads that it shows, and those among which its knee is looked for."""

    case: Case
    mix: Mix
    shown: Sequence[Load]
    tried: Sequence[Load]


def _asked_of(deployment: Deployment, mix: Mix, loads: Sequence[Load] | None) -> _Asked | CannotBeMet:
    try:
        case = case_of(deployment, True)
    except CannotBeMet as error:
        return error
    if loads is not None:
        return _Asked(case, mix, loads, ())
    slots = case.slots(mix)
    return _Asked(case, mix, _closed_loads(slots), _knee_loads(slots))


def _curve(profile: Profile, asked: _Asked, states: Iterator[tuple[dict[str, float], Origin]]) -> Curve:
    """Of the next states, one for each of its loads."""
    case, mix, slots = asked.case, asked.mix, asked.case.slots(asked.mix)
    shown = [(load, *next(states)) for load in asked.shown]
    tried = [(load, next(states)[0]) for load in asked.tried]
    best = max((row for row in tried if row[1]["e2e_s"]), key=_row_power, default=None)
    kept = {load: row for load, row, _origin in shown} | dict([best] if best else [])
    wide = _wide(profile, case)
    in_order = sorted(kept, key=lambda load: load.value) if best else asked.shown
    every = [_point(case, mix, load, kept[load], wide) for load in in_order]
    return Curve(
        deployment=case.deployment,
        mix=mix,
        points=tuple(every),
        knee=next((point for point in every if point.load == best[0]), None) if best else _inner_knee(every),
        kv_outweighs_weights_at=_kv_outweighs(case, mix, slots),
        slots=slots,
        step_source=_source(profile, case.deployment, shown[0][2]),
        warnings=tuple(dict.fromkeys(chain(speed_cautions(case.memory), *(point.warnings for point in every)))),
    )


def _source(profile: Profile, deployment: Deployment, origin: Origin) -> str:
    steps = step_assumption(profile, deployment)
    drafts = "".join(f"; {assumption}" for assumption in draft_assumptions(deployment))
    kernels = {"kernels": _("{text}, with the host times of: "), "roofline": "{text}: " if origin.text else ""}
    if origin.steps == "law":
        return f"{steps.value} ({steps.why}){drafts}"
    return kernels[origin.steps].format(text=origin.text) + f"{steps.value} ({steps.why}){drafts}"


def _closed_loads(slots: float) -> list[Load]:
    most = int(slots).bit_length() - 1 + _BEYOND
    return [Load("concurrency", float(2**n)) for n in range(most + 1)]


def _knee_loads(slots: float) -> list[Load]:
    """Among which the knee is looked for."""
    import numpy as np

    clients = np.unique(np.round(np.geomspace(1, max(1.0, slots), _KNEE_LOADS)))
    return [Load("concurrency", float(count)) for count in clients]


def _row_power(row: tuple[Load, dict[str, float]]) -> float:
    return row[1]["requests_per_s"] / row[1]["e2e_s"]


def _inner_knee(every: Sequence[Point]) -> Point | None:
    """The knee among loads that were given, where they reach beyond it on both sides."""
    best = _power(every)
    return None if best is None or best in (every[0], every[-1]) else best


def _power(every: Sequence[Point]) -> Point | None:
    """The point of a closed loop with the most throughput for its response time (Kleinrock's power).

    Up to there, twice the clients bring more throughput than waiting; beyond, more waiting.
    """
    closed = [point for point in every if point.load.kind == "concurrency" and point.e2e_s]
    power: Callable[[Point], float] = lambda point: point.requests_per_s / (point.e2e_s or float("inf"))  # noqa: E731
    return max(closed, key=power, default=None)


def _kv_outweighs(case: Case, mix: Mix, slots: float) -> float | None:
    """The fewest running requests whose caches are more bytes than the weights that their step reads."""
    kv_bytes = case.read.mean_bytes(mix.prompt_tokens, mix.output_tokens)

    def more(running: int) -> bool:
        """Once so, it stays so: caches grow in proportion, and the weights that are read ever more slowly."""
        each = running / case.batches
        return bool(each * kv_bytes > case.amounts.weight_bytes(max(each, 1.0)))

    most = max(1, int(slots))
    found = bisect_left(range(1, most + 1), True, key=more) + 1
    return float(found) if found <= most else None


def pareto(curves: Sequence[Curve]) -> set[tuple[int, int]]:
    """(curve, point) of every point that no other beats in both TPOT and output tokens a second for a GPU."""
    every = [
        (point.tpot_s, curve.output_tokens_per_s_per_gpu(point), (number, place))
        for number, curve in enumerate(curves)
        for place, point in enumerate(curve.points)
        if point.tpot_s is not None and point.bound != "unstable"
    ]
    front: set[tuple[int, int]] = set()
    best = float("-inf")
    for _tpot_s, tokens_per_s, where in sorted(every, key=lambda item: (item[0], -item[1])):
        if tokens_per_s > best:
            best = tokens_per_s
            front.add(where)
    return front
