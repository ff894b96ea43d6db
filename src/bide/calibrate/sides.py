"""What `bide compare` can lay beside another: a measured run, a curve, a simulation, or a deployment's prediction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from bide.bench.formats.numbers import items, mapping, number, percent_of, positive
from bide.bench.formats.reading import read_runs
from bide.bench.formats.values import Figures, LoadKind, Run
from bide.calibrate.replay import is_listed, simulated
from bide.calibrate.runs import of_deployment
from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.simulate.curve import points
from bide.simulate.operating import Load, Mix, Point
from bide.simulate.replica_setup import ReplicaSetup, setup_of
from bide.simulate.simulation_dict import simulation_dict

_RATES = ("requests_per_s", "output_tokens_per_s")
MEAN = None
"""A percentile's place for the mean."""


@dataclass(frozen=True, slots=True)
class Value:
    """A figure and between what ends it may lie; none where nothing says so."""

    value: float
    low: float | None = None
    high: float | None = None
    few: bool = False
    """Of too few requests to say how sure it is, where the others of the same result do say."""


@dataclass(frozen=True, slots=True)
class Side:
    """One level of load. `figures` by (metric, percent or None for the mean): seconds, and rates a second."""

    name: str
    what: str
    """`measured`, `curve` or `simulation`."""
    kind: LoadKind
    level: float | None
    figures: Mapping[tuple[str, float | None], Value]
    prompt_tokens: float | None = None
    output_tokens: float | None = None
    doubts: tuple[str, ...] = ()
    run: Run | None = None
    """What a measured side was made of."""


def sides_of(path: Path, field: str) -> list[Side]:
    """A result or a prediction in a file. Raises BadInput for anything else."""
    schema = _schema(path)
    if schema == "bide.curve/1":
        return _curve_sides(json.loads(path.read_text(encoding="utf-8")), path, field)
    if schema == "bide.simulate/1":
        return [_simulation_side(json.loads(path.read_text(encoding="utf-8")), path, field)]
    return [measured_side(run) for run in read_runs(path, field)]


def _schema(path: Path) -> str:
    """What one of our own JSON files says it is."""
    if path.suffix.lower() != ".json":
        return ""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    return str(mapping(found).get("schema", ""))


def measured_side(run: Run) -> Side:
    """A run's figures, but for those that a fault spoils."""
    found: dict[tuple[str, float | None], Value] = {}
    for metric in run.latency:
        figures = run.trusted(metric)
        if figures is not None:
            found |= {(metric, percent): value for percent, value in _values(figures).items()}
    rates = {"requests_per_s": run.requests_per_s, "output_tokens_per_s": run.output_tokens_per_s}
    found |= {(name, MEAN): Value(value) for name, value in rates.items() if value}
    doubts = tuple(fault.text for fault in run.faults if fault.grave != "note")
    return Side(
        f"{run.source} ({run.name})",
        "measured",
        run.load.kind,
        run.load.value,
        found,
        run.prompt_tokens,
        run.output_tokens,
        doubts,
        run,
    )


def _values(figures: Figures) -> dict[float | None, Value]:
    found: dict[float | None, Value] = {}
    if figures.mean_s is not None:
        found[MEAN] = Value(figures.mean_s, *_mean_ends(figures, figures.mean_s))
    for percent, value in figures.percentiles.items():
        low, high = figures.intervals.get(percent, (None, None))
        says = bool(figures.intervals) or figures.mean_ends_s is not None
        found[percent] = Value(value, low, high, few=says and low is None)
    return found


def _mean_ends(figures: Figures, mean_s: float) -> tuple[float, float] | tuple[None, None]:
    """As the result says, else 1.96 standard errors: too narrow where requests wait together, and all there is."""
    if figures.mean_ends_s is not None:
        return figures.mean_ends_s
    if figures.std_s is None or not figures.count:
        return None, None
    off_s = 1.96 * figures.std_s / figures.count**0.5
    return mean_s - off_s, mean_s + off_s


def predicted_sides(measured: list[Side], deployment: Deployment, profile: Path | None) -> list[Side]:
    """What a deployment would do under the very loads that were measured.

    Where a result lists its requests they are played through the simulator, which has percentiles; the others get the
    means of the closed forms. Raises BadInput for a measurement that does not say its load and lengths.
    """
    asked = []
    for side in measured:
        if side.kind == "unknown" or not side.level or not side.prompt_tokens or not side.output_tokens:
            raise BadInput("a", side.name, _("a result that says its load, and how long prompts and answers were"))
        asked.append((deployment, Mix(side.prompt_tokens, side.output_tokens), Load(side.kind, side.level)))
    gpu = deployment.gpu.id if deployment.gpu else ""
    name = f"{deployment.model.name}, {deployment.replica_gpus} x {gpu}"
    misfits = [() if side.run is None else of_deployment(side.run, deployment) for side in measured]
    by_means = [_point_side(*each, name) for each in zip(points(asked, profile), misfits, strict=True)]
    if not any(side.run is not None and is_listed(side.run) for side in measured):
        return by_means
    setup = setup_of(deployment, profile)
    return [_played_side(side, plain, setup) or plain for side, plain in zip(measured, by_means, strict=True)]


def _played_side(side: Side, plain: Side, setup: ReplicaSetup) -> Side | None:
    """`plain` with the simulator's figures; None where there are no requests to play, or none that fits.

    A mean gets the interval of the closed form's, as a share of it: both rest on the same step times.
    """
    try:
        made = None if side.run is None else simulated(side.run, setup)
    except CannotBeMet:
        made = None
    if made is None:
        return None
    found = dict(_latencies(simulation_dict(made)["latency"]))
    for (metric, percent), value in found.items():
        known = plain.figures.get((metric, MEAN))
        if percent is MEAN and known is not None and known.low is not None and known.high is not None:
            scale = value.value / known.value
            found[(metric, MEAN)] = Value(value.value, known.low * scale, known.high * scale)
    rates = {key: value for key, value in plain.figures.items() if key not in found and key[0] in _RATES}
    return replace(plain, what="simulation", figures=found | rates)


def _point_side(point: Point, misfits: Iterable[str], name: str) -> Side:
    """`misfits`: why what was measured is not what is predicted."""
    interval = point.interval or {}
    found: dict[tuple[str, float | None], Value] = {}
    for metric, value in (("ttft", point.ttft_s), ("tpot", point.tpot_s), ("e2e", point.e2e_s)):
        if value is not None:
            low, high = interval.get(f"{metric}_s", (None, None))
            found[(metric, MEAN)] = Value(value, low, high)
    for metric, value in (("requests_per_s", point.requests_per_s), ("output_tokens_per_s", point.output_tokens_per_s)):
        low, high = interval.get(metric, (None, None))
        found[(metric, MEAN)] = Value(value, low, high)
    return Side(
        name,
        "curve",
        point.load.kind,
        point.load.value,
        found,
        point.mix.prompt_tokens,
        point.mix.output_tokens,
        (*point.warnings, *misfits),
    )


def _curve_sides(found: Mapping[str, Any], path: Path, field: str) -> list[Side]:
    """The points of every curve of `bide curve --json`."""
    made = []
    for curve in items(found.get("curves")):
        for raw in items(mapping(curve).get("points")):
            made.append(_json_point(mapping(raw), mapping(curve), path))
    if not made:
        raise BadInput(field, str(path), _("a curve with a point in it"))
    return made


def _json_point(point: Mapping[str, Any], curve: Mapping[str, Any], path: Path) -> Side:
    kind, level = next(iter(mapping(point.get("load")).items()), ("unknown", None))
    interval = mapping(point.get("interval"))
    found: dict[tuple[str, float | None], Value] = {}
    for key in ("ttft_s", "tpot_s", "e2e_s", "requests_per_s", "output_tokens_per_s"):
        value = positive(point.get(key))
        ends = [number(end) for end in items(interval.get(key))]
        if value is not None:
            low, high = ends if len(ends) == 2 else (None, None)
            found[(_metric(key), MEAN)] = Value(value, low, high)
    name = f"{path} ({curve.get('name') or curve.get('model')})"
    lengths = (positive(curve.get("prompt_tokens")), positive(curve.get("output_tokens")))
    known: LoadKind = next((name for name in get_args(LoadKind) if name == kind), "unknown")
    return Side(name, "curve", known, number(level), found, *lengths)


def _metric(key: str) -> str:
    return key.removesuffix("_s") if key in ("ttft_s", "tpot_s", "e2e_s") else key


def _simulation_side(found: Mapping[str, Any], path: Path, field: str) -> Side:
    """`bide simulate --json`: each percentile lies between the widest of its two intervals."""
    figures = dict(_latencies(mapping(found.get("latency"))))
    rates = mapping(found.get("rates"))
    for key, name in (("completed_per_s", "requests_per_s"), ("output_tokens_per_s", "output_tokens_per_s")):
        value = positive(rates.get(key))
        if value is not None:
            figures[(name, MEAN)] = Value(value)
    if not figures:
        raise BadInput(field, str(path), _("a simulation with latencies in it"))
    rate = positive(mapping(found.get("workload")).get("requests_per_s"))
    return Side(str(path), "simulation", "requests_per_s" if rate else "unknown", rate, figures)


def _latencies(latency: Mapping[str, Any]) -> Iterator[tuple[tuple[str, float | None], Value]]:
    """Of `bide simulate --json`."""
    for metric, said in latency.items():
        mean = number(mapping(said).get("mean_s"))
        if mean is not None:
            yield (metric, MEAN), Value(mean)
        for name, each in mapping(said).items():
            percent = percent_of(str(name).removesuffix("_s"))
            value = number(mapping(each).get("value"))
            if percent is not None and value is not None:
                yield (metric, percent), Value(value, *_widest(mapping(each), value))


def _widest(said: Mapping[str, Any], value: float) -> tuple[float | None, float | None]:
    lows = [end for key in ("low", "step_low") if (end := number(said.get(key))) is not None]
    highs = [end for key in ("high", "step_high") if (end := number(said.get(key))) is not None]
    return (min(*lows, value) if lows else None, max(*highs, value) if highs else None)
