"""The parts of a token's time as people see them: their names, and their colours in a chart."""

from __future__ import annotations

from dataclasses import dataclass

from bide.i18n import _
from bide.report.themed import INK, PARTS
from bide.simulate.operating import Parts


@dataclass(frozen=True, slots=True)
class TimePart:
    """One part; `what` says what happens in it."""

    name: str
    what: str
    colour: str
    seconds: float


def time_parts(parts: Parts) -> tuple[TimePart, ...]:
    """All parts, also those of no time; they sum to the whole."""
    blue, green, yellow, violet, red, grey = PARTS
    return (
        TimePart(_("weights"), _("reading them, once a step for all that run"), blue, parts.weights_s),
        TimePart(_("cache"), _("reading what each running request has in it"), green, parts.kv_s),
        TimePart(_("compute"), _("matrix products, where they take longer than reading"), yellow, parts.compute_s),
        TimePart(_("network"), _("between the GPUs of the replica"), violet, parts.network_s),
        TimePart(_("overhead"), _("the engine: scheduling, launching, sampling"), grey, parts.overhead_s),
        TimePart(_("prefill"), _("prompts of other requests, in between"), red, parts.prefill_s),
        TimePart(_("queue"), _("waiting for a place in the batch, and for prompts before it"), INK, parts.queue_s),
    )
