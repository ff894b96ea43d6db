"""When an autoscaler should add a replica, in the engine's own metrics.

Replicas take a while to start, so that one must be asked for while the load can still grow for so long within what
the others carry. With g the factor by which the load grows during a start at its steepest, a replica is to be kept at
1 / g of the highest rate that keeps the patience. An autoscaler keeps an average at a target by
replicas = ceil(now x average / target) (Kubernetes' HorizontalPodAutoscaler); the requests that run at once are the
average that follows the rate best, being rate x time in the replica (Little's law). Of replicas that only compute
prompts they say nothing: engines count after each step, and a prompt that takes a single one is never seen running.
These follow the rate itself, in prompt tokens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bide.i18n import _
from bide.units import format_seconds

ASSUMED_GROWTH = 1.25
"""During a start, where the course of the day is not known."""
LARGEST_GROWTH = 2.0
"""Beyond this replicas are kept standing instead: a target at less than half of what a replica carries wastes more."""
STABILISATION_S = 300.0
"""Kubernetes' own wait before it takes a replica away (HPA, behavior.scaleDown.stabilizationWindowSeconds)."""


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """One replica at a rate, on average over time."""

    requests_per_s: float
    running: float
    waiting: float
    kv_usage: float
    """Share of the cache's blocks that requests hold."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """For one replica, on average over all of them: what an autoscaler's targets are compared with.

    The metrics' names are in `facts.engine_metrics`: `running` or `prefilled`, `waiting`, `kv_usage`.
    """

    requests_per_s: float
    """The rate at which a replica is kept."""
    running_requests: float | None
    """Target of the running requests; None of replicas that only compute prompts."""
    prompt_tokens_per_s: float | None
    """Target of the prompt tokens, cached ones too, that such replicas are done with each second; None of others."""
    waiting_requests: float
    """More replicas are needed where more requests wait than this for longer than a moment."""
    kv_usage: float
    """Target of the cache's use, 0 to 1: reached before the other where requests have become longer."""
    min_replicas: int
    max_replicas: int
    scale_up_s: float
    scale_down_s: float
    """How long a replica must have been too many before it goes."""
    growth: float
    """Of the load during a start, at its steepest."""
    growth_assumed: bool
    why: Mapping[str, str]
    """The arithmetic of each figure, by its field."""


def kept_rps(highest_rps: float, growth: float) -> float:
    """The rate at which a replica is kept, so that it carries what comes until another has started."""
    return highest_rps / growth


def thresholds(
    kept: ReplicaState,
    highest: ReplicaState,
    *,
    replicas: tuple[int, int],
    standing_by: int = 0,
    scale_up_s: float,
    growth: float | None = None,
    prompt_tokens: float | None = None,
) -> Thresholds:
    """From a replica at `kept_rps` and at the highest rate that keeps the patience.

    `replicas`: the fewest and the most, those `standing_by` for failures and updates among them. `growth` is None where
    the course of the day is not known. `prompt_tokens`: of a prompt on average, for replicas that do nothing else.
    """
    used = ASSUMED_GROWTH if growth is None else growth
    fewest, most = replicas
    down_s = max(STABILISATION_S, scale_up_s)
    return Thresholds(
        requests_per_s=kept.requests_per_s,
        running_requests=kept.running if prompt_tokens is None else None,
        prompt_tokens_per_s=None if prompt_tokens is None else kept.requests_per_s * prompt_tokens,
        waiting_requests=float(max(1, math.ceil(highest.waiting))),
        kv_usage=kept.kv_usage,
        min_replicas=fewest,
        max_replicas=most,
        scale_up_s=scale_up_s,
        scale_down_s=down_s,
        growth=used,
        growth_assumed=growth is None,
        why={
            "requests_per_s": _why_rate(kept, highest, used, growth is None, scale_up_s),
            **_why_followed(kept, prompt_tokens),
            "waiting_requests": _why_waiting(highest),
            "kv_usage": _why_kv(kept),
            "min_replicas": _why_fewest(fewest - standing_by, standing_by),
            "max_replicas": _why_most(most - standing_by, standing_by),
            "scale_down_s": _why_down(scale_up_s),
        },
    )


def _why_rate(kept: ReplicaState, highest: ReplicaState, growth: float, assumed: bool, scale_up_s: float) -> str:
    text = _(
        "{highest:.3g} requests/s keep the patience, and the load grows by a factor of {growth:.3g} ({origin}) in the "
        "{start} that a replica takes to start: {highest:.3g} / {growth:.3g} = {kept:.3g}."
    )
    return text.format(
        highest=highest.requests_per_s,
        growth=growth,
        origin=_("assumed") if assumed else _("at its steepest"),
        start=format_seconds(scale_up_s),
        kept=kept.requests_per_s,
    )


def _why_followed(kept: ReplicaState, prompt_tokens: float | None) -> dict[str, str]:
    if prompt_tokens is None:
        return {"running_requests": _why_running(kept)}
    text = _(
        "{rate:.3g} requests/s x {tokens:,.0f} tokens a prompt = {product:,.0f}. Engines count after each step: a "
        "prompt that takes a single step is never seen running."
    )
    product = kept.requests_per_s * prompt_tokens
    return {"prompt_tokens_per_s": text.format(rate=kept.requests_per_s, tokens=prompt_tokens, product=product)}


def _why_running(kept: ReplicaState) -> str:
    stay = format_seconds(kept.running / kept.requests_per_s)
    text = _("At {rate:.3g} requests/s a replica runs {running:.3g} requests, each for {stay} (Little's law).")
    return text.format(rate=kept.requests_per_s, running=kept.running, stay=stay)


def _why_waiting(highest: ReplicaState) -> str:
    text = _(
        "At the highest rate, {rate:.3g} requests/s, {waiting:.3g} wait on average; a queue that stays longer breaks "
        "the patience."
    )
    return text.format(rate=highest.requests_per_s, waiting=highest.waiting)


def _why_kv(kept: ReplicaState) -> str:
    text = _(
        "At {rate:.3g} requests/s requests hold {share:.0%} of the cache; more at this rate means that they are longer "
        "than planned."
    )
    return text.format(rate=kept.requests_per_s, share=kept.kv_usage)


def _why_fewest(needed: int, standing_by: int) -> str:
    text = _("With fewer than {needed} the load could grow faster than replicas start.").format(needed=needed)
    return text + (" " + _("{n} more for those that stand by.").format(n=standing_by) if standing_by else "")


def _why_most(needed: int, standing_by: int) -> str:
    text = _("The plan's fleet: {needed} carry the planned rate.").format(needed=needed)
    if not standing_by:
        return text
    more = _("{n} more stand by; an autoscaler keeps these only at its fewest and at its most.").format(n=standing_by)
    return f"{text} {more}"


def _why_down(scale_up_s: float) -> str:
    text = _(
        "The longer of a start ({start}) and Kubernetes' own {window}: a replica that is wanted again sooner is not "
        "worth stopping."
    )
    return text.format(start=format_seconds(scale_up_s), window=format_seconds(STABILISATION_S))
