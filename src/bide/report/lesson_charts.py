"""The chart of the lesson on patience: GPUs against the time between tokens that users accept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bide.i18n import _
from bide.plan.steady_fleet import SteadyFleet
from bide.report.curve_scales import hover
from bide.report.themed import ACCENT, INK, WARN, log_scale, round_ticks, rows
from bide.report.words import rate, seconds


def patience_chart(fleets: Sequence[SteadyFleet], chosen: SteadyFleet | None) -> Any:
    """Steps down as patience grows, as an Altair chart; `chosen` is pointed out."""
    import altair as alt

    values = [_row(fleet) for fleet in fleets]
    ticks = round_ticks([fleet.tpot_s * 1e3 for fleet in fleets])
    x = alt.X("ms:Q", scale=log_scale(10), axis=ticks, title=_("a token at the latest every, ms"))
    y = alt.Y("gpus:Q", title=_("GPUs"), axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=True))
    base = alt.Chart(rows(values)).encode(x=x, y=y)
    area = base.mark_area(interpolate="step-after", color=ACCENT, opacity=0.15, aria=False)
    line = base.mark_line(interpolate="step-after", color=ACCENT, strokeWidth=2.5, aria=False)
    spots = base.mark_point(filled=True, size=45, opacity=1, color=ACCENT).encode(**hover())
    layers = [area, line, spots]
    if chosen:
        here = alt.Chart(rows([_row(chosen)])).encode(x=x, y=y)
        word = here.mark_text(color=INK, align="left", dx=10, dy=-10).encode(text=alt.Text("label:N"))
        layers += [here.mark_point(filled=True, size=130, opacity=1, color=WARN), word]
    return alt.layer(*layers)


def _row(fleet: SteadyFleet) -> dict[str, object]:
    text = _("a token every {tpot}: {n} requests on each, {rate} requests/s; {gpus} GPUs").format(
        tpot=seconds(fleet.tpot_s),
        n=rate(fleet.point.running_requests),
        rate=rate(fleet.point.requests_per_s),
        gpus=fleet.gpus,
    )
    label = _("{gpus} GPUs").format(gpus=fleet.gpus)
    return {"ms": fleet.tpot_s * 1e3, "gpus": fleet.gpus, "text": text, "label": label}
