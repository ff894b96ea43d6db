"""Why candidates that run do not do: too slow with nobody else there, or more of them than are allowed."""

from __future__ import annotations

from collections.abc import Sequence

from bide.i18n import _
from bide.plan.asks import Ask, Asks
from bide.plan.capacity import Capacity
from bide.plan.measured.capacity import MeasuredCapacity
from bide.plan.question import Goodput, Measure
from bide.plan.rejection import Rejection
from bide.units import format_seconds

_ROOM = 1.01
"""On the nearest patience that is named."""


def too_many(trial: Capacity, replicas: int, asks: Asks, max_gpus: int, spare: int) -> Rejection:
    """It would take `replicas` and the spare ones."""
    candidate = trial.candidate
    needed, allowed = (replicas + spare) * candidate.gpus, max(0, max_gpus // candidate.gpus - spare)
    reason = _("needs {needed:,} GPUs for {rps:g} requests/s; at most {most} are allowed").format(
        needed=needed, rps=candidate.service.traffic.planned_rps, most=max_gpus
    )
    nearest = _("{most} GPUs carry {rps:.3g} requests/s within the patience.").format(
        most=(allowed + spare) * candidate.gpus if allowed else max_gpus,
        rps=(trial.highest_rate(asks, replicas=allowed) or 0.0) * allowed if allowed else 0.0,
    )
    return Rejection(candidate.name, reason + ".", needed, max_gpus, "GPUs", nearest)


def too_slow(trials: Sequence[Capacity], asks: Asks) -> Rejection:
    """Of the trial that comes nearest when nobody else is there."""
    worst = [(max(_idle(trial, asks), key=_excess), trial) for trial in trials]
    (ask, idle), trial = min(worst, key=lambda pair: _excess(pair[0]))
    name, measure = trial.candidate.name, ask.probe.measure
    if isinstance(measure, Goodput):
        reason = _("{share:.1%} of the requests cannot keep every limit, even with nobody else there").format(
            share=measure.share
        )
        nearest = _("They can with {factor:.3g} times the patience.").format(factor=idle * _ROOM)
        return Rejection(name, reason + _("; no number of GPUs cures that."), idle, 1.0, "", nearest)
    if isinstance(trial, MeasuredCapacity):
        return _slow_when_measured(trial, ask, idle)
    reason = _(
        "{limit} is {likely} with nobody else there, the limit is {seconds}; no number of GPUs cures that"
    ).format(limit=measure.name, likely=format_seconds(idle), seconds=format_seconds(ask.most))
    nearest = _("The least patience that it can keep is {likely}.").format(likely=format_seconds(idle * _ROOM))
    return Rejection(name, reason + ".", idle, ask.most, "s", nearest)


def _slow_when_measured(trial: MeasuredCapacity, ask: Ask, least: float) -> Rejection:
    """Nobody knows what less load would give."""
    rate, measure = trial.lowest_measured_rps, ask.probe.measure
    assert isinstance(measure, Measure)
    reason = _(
        "{limit} is promised as {likely} at the lowest load that was measured, {rate:.3g} requests/s; the limit is "
        "{seconds}"
    ).format(limit=measure.name, likely=format_seconds(least), rate=rate, seconds=format_seconds(ask.most))
    nearest = _("Measure a lower load, or wait {likely}.").format(likely=format_seconds(least * _ROOM))
    return Rejection(trial.candidate.name, reason + ".", least, ask.most, "s", nearest)


def _idle(trial: Capacity, asks: Asks) -> list[tuple[Ask, float]]:
    """Everything that is asked, and what an idle replica does."""
    return [(ask, trial.value(trial.rate(0), ask.probe)) for ask in asks]


def _excess(missed: tuple[Ask, float]) -> float:
    ask, idle = missed
    return idle / ask.most
