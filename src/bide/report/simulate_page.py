"""A simulation as a picture or as one self-contained page."""

from __future__ import annotations

from bide.report.page import NARROW, WIDE, page
from bide.report.simulate_charts import charts
from bide.report.simulate_text import endnotes, facts, latency_table, sentences
from bide.report.themed import painted, png
from bide.report.workload_charts import stacked
from bide.simulate.simulation import Simulation

_PICTURE = (900, 260)


def simulate_svg(made: Simulation) -> str:
    """All charts, one below another, in light colours, for a file of its own."""
    return painted(_picture(made))


def simulate_png(made: Simulation) -> bytes:
    """The same as a PNG."""
    return png(_picture(made))


def _picture(made: Simulation) -> str:
    return stacked(charts(made, *_PICTURE), _PICTURE[0])


def simulate_page(made: Simulation) -> str:
    """Sentences, charts, percentiles, figures, notes. Needs jinja2, altair and vl-convert."""
    wide, narrow = charts(made, WIDE), charts(made, NARROW)
    head, *more = sentences(made)
    return page(
        "simulate.html.j2",
        sentence=head,
        more=more,
        latencies=latency_table(made.summary),
        facts=list(facts(made)),
        charts=[(title, one, other) for (title, one), (_title, other) in zip(wide, narrow, strict=True)],
        notes=[line.removeprefix("- ") for line in endnotes(made)],
    )
