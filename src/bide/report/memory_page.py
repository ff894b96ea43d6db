"""The memory answer as a picture or as one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence

from bide.i18n import _
from bide.physics.memory import Memory
from bide.report.memory_charts import Marked, memory_bar, requests_chart
from bide.report.memory_text import (
    MemorySaid,
    context_table,
    count,
    endnotes,
    figures,
    lever_table,
    lever_title,
    tenant_sentence,
    tenant_table,
)
from bide.report.page import NARROW, WIDE, page
from bide.report.themed import painted, png
from bide.report.words import place

_PICTURE = (900, 420)


def memory_svg(memory: Memory, contexts: Sequence[int]) -> str:
    """Requests against context, in light colours, for a file of its own."""
    return painted(_picture(memory, contexts))


def memory_png(memory: Memory, contexts: Sequence[int]) -> bytes:
    """The same as a PNG."""
    return png(_picture(memory, contexts))


def _picture(memory: Memory, contexts: Sequence[int]) -> str:
    title = _("Requests at once: {model} on {where}")
    return _chart(
        memory, contexts, *_PICTURE, title.format(model=memory.deployment.model.name, where=place(memory.deployment))
    )


def memory_page(said: MemorySaid) -> str:
    """Sentence, services, card, chart, contexts, levers, notes. Needs jinja2, altair and vl-convert."""
    memory, needs, contexts = said.memory, said.needs, said.contexts
    charts = []
    if memory.size and memory.fits:
        bars = (memory_bar(memory.size.ledger, width) for width in (WIDE, NARROW))
        charts.append((_("Where the memory of one GPU goes"), *bars))
    if memory.fits:
        lines = (_chart(memory, contexts, width, 230) for width in (WIDE, NARROW))
        charts.append((_("How many requests fit"), *lines))
    return page(
        "memory.html.j2",
        sentences=[tenant_sentence(memory, needs), said.sentence] if needs else [said.sentence],
        fits=memory.fits,
        tenants=tenant_table(needs) if needs else None,
        figures=list(figures(memory, said.context_tokens)),
        charts=charts,
        contexts=context_table(memory, contexts, said.mean_tokens),
        lever_title=lever_title(said.context_tokens),
        levers=lever_table(memory, said.levers, said.context_tokens),
        notes=list(endnotes(memory, contexts)),
    )


def _chart(memory: Memory, contexts: Sequence[int], width: int, height: int, title: str = "") -> str:
    return requests_chart(memory, marked_contexts(memory, contexts), max(contexts), width, height, title)


def marked_contexts(memory: Memory, contexts: Sequence[int]) -> list[Marked]:
    """The requests at each context, in words beside the line."""
    return [Marked(c, _("{n} at {c:,}").format(n=count(memory.replica_requests(c).mid), c=c)) for c in contexts]
