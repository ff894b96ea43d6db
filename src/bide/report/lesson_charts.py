"""The chart of the lesson on patience: GPUs against the time between tokens that users accept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bide.i18n import _
from bide.plan.steady_fleet import SteadyFleet
from bide.report.curve_scales import hover
from bide.report.shaped import Shaped, named, shape, ticks
from bide.report.themed import ACCENT, INK, WARN, log_scale, round_values
from bide.report.words import rate, seconds


def patience_chart(fleets: Sequence[SteadyFleet], chosen: SteadyFleet | None) -> Shaped:
    """Steps down as patience grows; `chosen` is pointed out."""
    return Shaped(
        _patience_shape(),
        {"fleets": [_row(fleet) for fleet in fleets], "chosen": [_row(chosen)] if chosen else []},
        {"times": round_values([fleet.tpot_s * 1e3 for fleet in fleets])},
    )


@shape
def _patience_shape() -> Any:
    """A step for each of `fleets`, and the one that was `chosen`."""
    import altair as alt

    axis = ticks("times", format="~g")
    x = alt.X("ms:Q", scale=log_scale(10), axis=axis, title=_("a token at the latest every, ms"))
    y = alt.Y("gpus:Q", title=_("GPUs"), axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=True))
    base, here = named("fleets").encode(x=x, y=y), named("chosen").encode(x=x, y=y)
    area = base.mark_area(interpolate="step-after", color=ACCENT, opacity=0.15, aria=False)
    line = base.mark_line(interpolate="step-after", color=ACCENT, strokeWidth=2.5, aria=False)
    spots = base.mark_point(filled=True, size=45, opacity=1, color=ACCENT).encode(**hover())
    word = here.mark_text(color=INK, align="left", dx=10, dy=-10).encode(text=alt.Text("label:N"))
    return alt.layer(area, line, spots, here.mark_point(filled=True, size=130, opacity=1, color=WARN), word)


def _row(fleet: SteadyFleet) -> dict[str, object]:
    text = _("a token every {tpot}: {n} requests on each, {rate} requests/s; {gpus} GPUs").format(
        tpot=seconds(fleet.tpot_s),
        n=rate(fleet.point.running_requests),
        rate=rate(fleet.point.requests_per_s),
        gpus=fleet.gpus,
    )
    label = _("{gpus} GPUs").format(gpus=fleet.gpus)
    return {"ms": fleet.tpot_s * 1e3, "gpus": fleet.gpus, "text": text, "label": label}
