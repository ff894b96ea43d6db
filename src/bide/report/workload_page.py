"""A workload as a picture or as one self-contained page."""

from __future__ import annotations

from bide.report.page import NARROW, WIDE, page
from bide.report.themed import painted, png
from bide.report.workload_charts import charts, stacked
from bide.report.workload_text import (
    WorkloadSaid,
    arrival_table,
    endnotes,
    facts,
    length_table,
    reading_lines,
    reuse_table,
    sentence,
)

_PICTURE = (900, 260)


def workload_svg(said: WorkloadSaid) -> str:
    """All charts, one below another, in light colours, for a file of its own."""
    return painted(_picture(said))


def workload_png(said: WorkloadSaid) -> bytes:
    """The same as a PNG."""
    return png(_picture(said))


def _picture(said: WorkloadSaid) -> str:
    return stacked(charts(said, *_PICTURE), _PICTURE[0])


def workload_page(said: WorkloadSaid) -> str:
    """Sentence, lengths, charts, arrivals, reuse, what was read, notes. Needs jinja2, altair and vl-convert."""
    wide, narrow = charts(said, WIDE), charts(said, NARROW)
    read = list(reading_lines(said.report))
    return page(
        "workload.html.j2",
        sentence=sentence(said),
        lengths=length_table(said.description),
        facts=list(facts(said.description)),
        charts=[(title, one, other) for (title, one), (_title, other) in zip(wide, narrow, strict=True)],
        arrivals=arrival_table(said.description),
        reuse=reuse_table(said.description),
        head=read[0] if read else "",
        read=[line.removeprefix("- ") for line in read[1:]],
        notes=list(endnotes(said)),
    )
