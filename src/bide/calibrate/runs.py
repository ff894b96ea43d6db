"""Measured runs of one deployment, made ready for a fit: what is learned from each, and why others are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from bide import metrics
from bide.bench.formats.faults import unknown_load
from bide.bench.formats.values import Metric, Run
from bide.bench.window import measured, window_of
from bide.calibrate.points import Measured
from bide.calibrate.twins import twins
from bide.errors import BideError
from bide.facts.deployment import SPLIT_KEYS, Deployment
from bide.facts.formats import served_scheme
from bide.facts.gpus import UNLISTED, find_gpu
from bide.facts.models import load_model
from bide.i18n import _
from bide.simulate.operating import Load, LoadKind, Mix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_Found = TypeVar("_Found")
_TAIL = 0.05
"""Of each side of a run's TTFTs: left out of their mean, because one stall would outweigh a hundred requests."""
_IN_FLIGHT = 0.98
_BURSTY = 0.5
_KEYS: Mapping[Metric, str] = {"ttft": "ttft_s", "tpot": "tpot_s", "e2e": "e2e_s"}


@dataclass(frozen=True, slots=True, eq=False)
class Usable:
    """A run that is learned from. `notes`: what to keep in mind of it."""

    run: Run
    point: Measured
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A run that is not, and why."""

    run: Run
    reasons: tuple[str, ...]


def sorted_out(runs: Sequence[Run], deployment: Deployment, forced: bool = False) -> tuple[list[Usable], list[LeftOut]]:
    """The runs that a fit may use, and the others. `forced`: doubts are notes, as long as there are figures.

    What is there twice counts once, forced or not.
    """
    usable, left, again = [], [], twins(runs)
    for place, run in enumerate(runs):
        if place in again:
            text = _("the same requests as in {source}: they count once")
            left.append(LeftOut(run, (text.format(source=runs[again[place]].source),)))
            continue
        doubts, gaps = list(_doubts(run, deployment)), list(_gaps(run))
        if gaps or (doubts and not forced):
            left.append(LeftOut(run, tuple(dict.fromkeys((*doubts, *gaps)))))
            continue
        notes = [*doubts, *(fault.text for fault in run.faults if fault.grave != "unusable")]
        usable.append(Usable(run, _point(run, deployment), tuple(dict.fromkeys(notes))))
    return usable, left


def _gaps(run: Run) -> Iterator[str]:
    """What is missing for a point."""
    if not run.prompt_tokens or not run.output_tokens:
        yield _("the result does not say how long prompts and answers were")
    if run.load.kind == "unknown" or not run.load.value:
        yield unknown_load().text
    elif not observed(run):
        yield _("no latency or throughput in it can be believed")


def _doubts(run: Run, deployment: Deployment) -> Iterator[str]:
    yield from run.unusable
    yield from of_deployment(run, deployment)
    if run.load.kind == "requests_per_s" and not _BURSTY <= run.load.burstiness <= 1 / _BURSTY:
        text = _("arrivals are not Poisson (burstiness {b:g}): the closed forms do not hold for them")
        if run.table is None:
            yield text.format(b=run.load.burstiness)
    if _grows(run):
        yield _("the server did not keep up: times grow as long as the run goes on")


def of_deployment(run: Run, deployment: Deployment) -> Iterator[str]:
    """Why the run is not one of this deployment."""
    yield from other_deployment(run, deployment)
    drafts = any(fault.code == "speculative" for fault in run.faults)
    if drafts and not deployment.speculative_tokens:
        yield _("speculative decoding was on and the deployment does not say so: --speculative-tokens")
    tokens = (run.prompt_tokens or 0.0) + (run.output_tokens or 0.0)
    if tokens > deployment.max_model_len:
        text = _("prompt and answer had {n:,.0f} tokens, and this deployment takes {most:,}: --max-model-len")
        yield text.format(n=tokens, most=deployment.max_model_len)


def _grows(run: Run) -> bool:
    """Whether an open loop finished clearly fewer requests a second than were sent."""
    asked, done = run.load.value, run.requests_per_s
    return run.load.kind == "requests_per_s" and bool(asked and done and run.table is None and done < 0.8 * asked)


def other_deployment(run: Run, deployment: Deployment) -> Iterator[str]:
    """What the result states otherwise than the deployment. Served names may be anything, so an unknown one is none."""
    stated, gpu = run.deployment, deployment.gpu
    if gpu is not None and gpu.id != UNLISTED and isinstance(stated.get("gpu"), str):
        other = _found(lambda: find_gpu(stated["gpu"]))
        if other is not None and other.id != gpu.id:
            yield _("measured on {other}, not on {gpu}").format(other=other.id, gpu=gpu.id)
    if isinstance(stated.get("model"), str):
        served, model = _found(lambda: load_model(stated["model"])), deployment.model
        if served is not None and replace(served, name=model.name) != model:
            yield _("measured with {other}, not {model}").format(other=served.name, model=model.name)
    for key in SPLIT_KEYS:
        value = stated.get(key)
        if isinstance(value, int | str) and str(value).isdecimal() and int(value) != getattr(deployment, key):
            yield _("measured with {key} {other}, not {own}").format(key=key, other=value, own=getattr(deployment, key))
    weights, own = stated.get("weights"), deployment.weights
    if isinstance(weights, str) and _is_other_scheme(weights.lower(), deployment):
        yield _("measured with {key} {other}, not {own}").format(key="weights", other=weights, own=own)
    engine = stated.get("engine")
    if engine in ("vllm", "sglang", "trtllm") and engine != deployment.engine.name:
        yield _("measured with {other}, not {own}").format(other=engine, own=deployment.engine.name)


def _is_other_scheme(weights: str, deployment: Deployment) -> bool:
    """Whether the model is served in another format where its weights are asked for so; a word that nobody knows is
    none."""
    model = deployment.model
    try:
        return served_scheme(model, weights) != served_scheme(model, deployment.weights)
    except BideError:
        return False


def _found(look: Callable[[], _Found]) -> _Found | None:
    try:
        return look()
    except BideError:
        return None


def observed(run: Run) -> dict[str, float]:
    """What a fit compares: TTFT and TPOT; of a batch, or where one of them is missing, E2E and throughput too."""
    found = judged(run)
    if {"ttft_s", "tpot_s"} <= found.keys():
        return {key: found[key] for key in ("ttft_s", "tpot_s")}
    return found


def judged(run: Run) -> dict[str, float]:
    """All that a prediction of the run can be held against: a rate that clients chose, and single times of a batch,
    are not."""
    found = {}
    for metric, key in _KEYS.items():
        value = _middle(run, metric) if run.load.kind != "batch" or metric == "e2e" else None
        if value is not None and value > 0:
            found[key] = value
    if run.output_tokens_per_s and run.load.kind != "requests_per_s":
        found["output_tokens_per_s"] = run.output_tokens_per_s
    return found


def _middle(run: Run, metric: Metric) -> float | None:
    """The mean, of TTFTs without the outermost; the median where a result says no mean."""
    figures = run.trusted(metric)
    if figures is None:
        return None
    if metric == "ttft" and run.table is not None:
        table = run.table
        inside = measured(table, window_of(table)) & (table.status == "ok")
        return trimmed(metrics.ttft_s(table)[inside])
    return figures.middle_s


def trimmed(values: Floats) -> float | None:
    import numpy as np

    there = np.sort(values[np.isfinite(values)])
    cut = int(len(there) * _TAIL)
    kept = there[cut : len(there) - cut] if cut else there
    return float(kept.mean()) if len(kept) else None


def _point(run: Run, deployment: Deployment) -> Measured:
    """The run as a point of the fit."""
    assert run.prompt_tokens
    assert run.output_tokens
    kind: LoadKind = run.load.kind  # type: ignore[assignment]  # `_gaps` leaves unknown ones out
    return Measured(
        curve=run.source,
        suite=run.tool,
        deployment=deployment,
        stated=True,
        mix=Mix(run.prompt_tokens, run.output_tokens),
        load=Load(kind, _level(run)),
        observed=observed(run),
        left_out="",
        source=run.source,
        licence="",
    )


def _level(run: Run) -> float:
    """What was asked; of a closed loop what was in flight, where that is known and less."""
    asked = float(run.load.value or 0.0)
    there = run.concurrency
    if run.load.kind == "concurrency" and there and there < _IN_FLIGHT * asked:
        return max(1.0, there)
    return asked
