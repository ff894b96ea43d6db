"""A measured run as a picture or as one self-contained page."""

from __future__ import annotations

from bide.bench.result import Bench
from bide.report.bench_charts import charts
from bide.report.bench_facts import facts
from bide.report.bench_text import endnotes, latency_table, level_table, sentences, shown_cell
from bide.report.page import NARROW, WIDE, page
from bide.report.themed import painted, png
from bide.report.workload_charts import stacked

_PICTURE = (900, 260)


def bench_svg(made: Bench) -> str:
    """All charts, one below another, in light colours, for a file of its own."""
    return painted(_picture(made))


def bench_png(made: Bench) -> bytes:
    """The same as a PNG."""
    return png(_picture(made))


def _picture(made: Bench) -> str:
    return stacked(charts(made, *_PICTURE), _PICTURE[0])


def bench_page(made: Bench) -> str:
    """Sentences, levels, percentiles, charts, figures, notes. Needs jinja2, altair and vl-convert."""
    wide, narrow = charts(made, WIDE), charts(made, NARROW)
    cell = shown_cell(made)
    head, *more = sentences(made)
    return page(
        "bench.html.j2",
        sentence=head,
        more=more,
        levels=level_table(made) if len(made.cells) > 1 else None,
        latencies=latency_table(cell),
        facts=list(facts(cell)),
        charts=[(title, one, other) for (title, one), (_title, other) in zip(wide, narrow, strict=True)],
        notes=[line.removeprefix("- ") for line in endnotes(made, cell)],
    )
