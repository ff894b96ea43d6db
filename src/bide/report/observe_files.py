"""Observed traffic as a service file for `bide plan`, as Markdown, as CSV and as a page."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from bide.i18n import _, speaking
from bide.report.markdown import bullets, plain, table
from bide.report.observe_text import endnotes, facts, latency_table, length_table, sentence
from bide.report.words import rounded
from bide.units import format_seconds
from bide.workload.observing.observation import Observation

_DIGITS = 6
_PATIENCE = (("ttft", 0.95), ("tpot", 0.95))


def observe_yaml(seen: Observation, gpus: Sequence[str]) -> str:
    """A service file: what was seen, and what its reader has to decide (marked in comments)."""
    import yaml

    service = _service(seen)
    content: dict[str, Any] = {"services": [service]}
    if gpus:
        content["hardware"] = {"gpus": list(gpus)}
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=118, default_flow_style=None)
    return "".join(f"# {line}\n" for line in _comments(seen, bool(gpus), "patience" in service)) + text


def _service(seen: Observation) -> dict[str, Any]:
    workload = seen.workload()
    lengths: Any = workload["lengths"]
    curves = {name: {"points": _short(length["points"])} for name, length in lengths.items()}
    deployment: dict[str, Any] = {"engine": seen.served.engine}
    if seen.looking.max_model_len is not None:
        deployment["max_model_len"] = seen.looking.max_model_len
    patience = _patience(seen)
    return {
        "name": seen.served.model.rpartition("/")[2] or seen.served.engine,
        "model": seen.served.model,
        "workload": {"lengths": curves, "source": workload["source"]},
        "traffic": {"peak_rps": rounded(seen.rates.peak_rps, 4)},
        **({"patience": patience} if patience else {}),
        "deployment": deployment,
    }


def _short(points: dict[float, float]) -> dict[float, float]:
    return {percent: rounded(value, _DIGITS) for percent, value in points.items()}


def _patience(seen: Observation) -> dict[str, str]:
    """What the users have had: the upper edge of each bucket."""
    found: dict[str, str] = {}
    for role, share in _PATIENCE:
        if role in seen.histograms:
            had = seen.histograms[role].quantile(share)
            with speaking("en"):  # a value of the file, which `plan` reads
                found[f"{role}_p{100 * share:g}"] = format_seconds(had.high if math.isfinite(had.high) else had.low)
    return found


def _comments(seen: Observation, with_gpus: bool, with_patience: bool) -> list[str]:
    lines = [plain_line(sentence(seen)), *(plain_line(line) for line in endnotes(seen))]
    lines.append(_("model: as the servers call it; a catalogue name, a Hugging Face id or a path is what plan reads."))
    if with_patience:
        lines.append(_("patience: what users have had (the upper edge of the bucket); write what they should have."))
    else:
        lines.append(_("patience: is missing, because these servers tell no latencies; write what users should have."))
    if not with_gpus:
        lines.append(_("hardware: is missing; add for example hardware: {{gpus: [h100-sxm]}}").format())
    return lines


def plain_line(text: str) -> str:
    """Without line ends: a label may hold anything."""
    return " ".join(text.split())


def observe_markdown(seen: Observation) -> str:
    """Sentence, lengths, latencies, figures, notes."""
    parts = [f"**{plain(sentence(seen))}**", table(*length_table(seen))]
    latencies = latency_table(seen)
    if latencies[1]:
        parts.append(table(*latencies))
    return "\n\n".join([*parts, bullets(": ".join(fact) for fact in facts(seen)), bullets(endnotes(seen))]) + "\n"


def observe_csv(seen: Observation) -> str:
    """A row a bucket of each histogram: its edges (tokens or seconds; none for an open end) and how many lie in it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["histogram", "above", "up_to", "count"])
    for role, of in seen.histograms.items():
        for low, high, number in zip(of.edges, of.edges[1:], of.counts, strict=False):
            writer.writerow([role, f"{low:g}", f"{high:g}" if math.isfinite(high) else "", f"{number:.6g}"])
    return text.getvalue()
