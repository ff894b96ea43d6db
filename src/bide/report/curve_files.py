"""Curves as Markdown, for a ticket or a wiki, and as CSV, for a spreadsheet."""

from __future__ import annotations

import csv
import io

from bide.i18n import _
from bide.report.curve_explain import explained
from bide.report.curve_notes import notes
from bide.report.curve_said import CurvesSaid
from bide.report.curve_sentences import sentences
from bide.report.curve_table import curve_table, limits
from bide.report.markdown import bullets, plain, table
from bide.simulate.curve_dict import tokens_per_s_per_user
from bide.simulate.operating import METRICS, Curve, Point

_DEPLOYMENT = ("model", "gpu", "gpus", "tp", "pp", "dp", "engine", "engine_version")
_POINT = (*METRICS, "itl_s", "running_requests", "waiting_requests", "bound")


def curve_markdown(said: CurvesSaid) -> str:
    """Sentences, a table for each curve, the arithmetic where it was asked for, notes."""
    first, *more = sentences(said)
    parts = [f"**{plain(first)}**", *map(plain, more)]
    for number, curve in enumerate(said.curves):
        parts += ["## " + plain(said.names[number]), table(*curve_table(said, number)), plain(limits(curve))]
    if said.explained:
        parts += ["## " + _("Where the time goes"), "```\n" + "\n".join(explained(said)) + "\n```"]
    return "\n\n".join([*parts, bullets(notes(said))]) + "\n"


def curve_csv(said: CurvesSaid) -> str:
    """A row a point; times in seconds, the 10th and 90th percentile of each metric beside it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    ends = [f"{metric}_{end}" for metric in METRICS for end in ("p10", "p90")]
    header = [*_DEPLOYMENT, "prompt_tokens", "output_tokens", "load_kind", "load", *_POINT]
    per_gpu = ["tokens_per_s_per_user", "output_tokens_per_s_per_gpu", "usd_per_million_output_tokens"]
    writer.writerow([*header, *per_gpu, *ends, "pareto", "knee"])
    for number, curve in enumerate(said.curves):
        for index, point in enumerate(curve.points):
            marks = [int((number, index) in said.front), int(point is curve.knee)]
            writer.writerow([*_where(curve), *_figures(curve, point), *marks])
    return text.getvalue()


def _where(curve: Curve) -> list[object]:
    d = curve.deployment
    gpu = d.gpu.id if d.gpu else ""
    return [d.model.name, gpu, curve.gpus, d.tp, d.pp, d.dp, d.engine.name, d.engine.version_text]


def _figures(curve: Curve, point: Point) -> list[object]:
    interval = point.interval or {}
    return [
        point.mix.prompt_tokens,
        point.mix.output_tokens,
        point.load.kind,
        point.load.value,
        *(getattr(point, name) for name in _POINT),
        tokens_per_s_per_user(point),
        curve.output_tokens_per_s_per_gpu(point),
        curve.usd_per_million_output_tokens(point),
        *(end for metric in METRICS for end in interval.get(metric, (None, None))),
    ]
