"""A workload's measures as Markdown, and its quantiles as CSV."""

from __future__ import annotations

import csv
import io

from bide.i18n import _
from bide.report.markdown import bullets, plain, table
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
from bide.workload.trace import Trace


def workload_markdown(said: WorkloadSaid) -> str:
    """Sentence, lengths, figures, arrivals, reuse, what was read, notes."""
    about = said.description
    parts = [f"**{plain(sentence(said))}**", table(*length_table(about)), bullets(": ".join(f) for f in facts(about))]
    for title, found in ((_("Arrivals"), arrival_table(about)), (_("Prefix reuse"), reuse_table(about))):
        if found:
            parts += ["## " + title, table(*found)]
    if said.report:
        head, *read = reading_lines(said.report)
        parts += ["## " + _("What was read"), plain(head), bullets(line.removeprefix("- ") for line in read)]
    return "\n\n".join([*filter(None, parts), bullets(endnotes(said))]) + "\n"


def workload_csv(trace: Trace) -> str:
    """A row a share of the answered requests: the lengths that they stay below, finer in the tail."""
    from bide.workload.modelling.fitting import quantiles_of

    answered = trace.answered
    columns = {"prompt_tokens": quantiles_of(trace.prompt_tokens[answered])}
    if trace.outputs_known:
        columns["output_tokens"] = quantiles_of(trace.output_tokens[answered])
        columns["total_tokens"] = quantiles_of((trace.prompt_tokens + trace.output_tokens)[answered])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["share", *columns])
    for place, share in enumerate(columns["prompt_tokens"].shares):
        writer.writerow([f"{share:g}", *(f"{points.at[place]:.6g}" for points in columns.values())])
    return text.getvalue()
