"""The memory answer as a picture or as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bide.i18n import _
from bide.physics.memory import Memory
from bide.plan.levers import Lever
from bide.report.memory_charts import Marked, memory_bar, requests_chart
from bide.report.memory_text import context_table, count, endnotes, figures, lever_table, sentence
from bide.report.themed import painted, png

_TEMPLATES = Path(__file__).with_name("templates")
_WIDE, _NARROW = 750, 340
_PICTURE = (900, 420)


def memory_svg(memory: Memory, contexts: Sequence[int]) -> str:
    """Requests against context, in light colours, for a file of its own."""
    return painted(_chart(memory, contexts, *_PICTURE))


def memory_png(memory: Memory, contexts: Sequence[int]) -> bytes:
    """The same as a PNG."""
    return png(_chart(memory, contexts, *_PICTURE))


def memory_page(memory: Memory, contexts: Sequence[int], levers: Sequence[Lever], context_tokens: int) -> str:
    """Sentence, card, chart, contexts, levers, notes. Needs jinja2, altair and vl-convert."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    charts = []
    if memory.size and memory.fits:
        bars = (memory_bar(memory.size.ledger, width) for width in (_WIDE, _NARROW))
        charts.append((_("Where the memory of one GPU goes"), *bars))
    if memory.fits:
        lines = (_chart(memory, contexts, width, 230) for width in (_WIDE, _NARROW))
        charts.append((_("How many requests fit"), *lines))
    return environment.get_template("memory.html.j2").render(
        sentence=sentence(memory, context_tokens),
        fits=memory.fits,
        figures=list(figures(memory, context_tokens)),
        charts=charts,
        contexts=context_table(memory, contexts, None),
        levers=lever_table(memory, levers, context_tokens),
        notes=list(endnotes(memory)),
        _=_,
    )


def _chart(memory: Memory, contexts: Sequence[int], width: int, height: int) -> str:
    marked = [Marked(c, _("{n} of {c:,}").format(n=count(memory.requests(c).mid), c=c)) for c in contexts]
    return requests_chart(memory, marked, max(contexts), width, height)
