"""The memory answer as Markdown, for a ticket or a wiki, and as CSV, for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from bide.i18n import _
from bide.physics.memory import Memory
from bide.report.markdown import bullets, plain, table
from bide.report.memory_text import (
    MemorySaid,
    context_table,
    endnotes,
    figures,
    lever_table,
    lever_title,
    tenant_sentence,
    tenant_table,
)


def memory_markdown(said: MemorySaid) -> str:
    """Sentence, figures, services, contexts, levers, notes."""
    memory, needs, context_tokens = said.memory, said.needs, said.context_tokens
    parts = [f"**{plain(said.sentence)}**", bullets(": ".join(line) for line in figures(memory, context_tokens))]
    if needs:
        parts += [plain(tenant_sentence(memory, needs)), table(*tenant_table(needs))]
    if memory.fits:
        parts += ["## " + _("Requests at once"), table(*context_table(memory, said.contexts, said.mean_tokens))]
    parts += ["## " + plain(lever_title(context_tokens)), table(*lever_table(memory, said.levers, context_tokens))]
    return "\n\n".join([*parts, bullets(endnotes(memory, said.contexts))]) + "\n"


def memory_csv(memory: Memory, contexts: Sequence[int]) -> str:
    """A row a context: bytes of one request on one GPU, requests at once over the replica with their interval."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["context_tokens", "request_bytes_per_gpu", "requests", "low_requests", "high_requests"])
    for tokens in contexts:
        requests = memory.replica_requests(tokens)
        writer.writerow([tokens, memory.fit(tokens).request_bytes, requests.mid, requests.low, requests.high])
    return text.getvalue()
