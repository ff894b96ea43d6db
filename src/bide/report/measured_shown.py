"""What was measured, compared and calibrated, as plain data for a page that draws its own charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bide.bench.formats.values import Run
from bide.calibrate.calibration import Calibration
from bide.calibrate.comparing import Comparison
from bide.i18n import _
from bide.report import calibrate_text, compare_text, run_text
from bide.report.calibrate_files import tables as calibration_tables
from bide.report.run_charts import run_charts
from bide.report.spec import drawn

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


def runs_shown(runs: Sequence[Run]) -> dict[str, Any]:
    """Sentences, levels, percentiles, charts, notes. Needs altair."""
    tables = [(_("Levels of load"), run_text.level_table(runs)), (_("Latencies"), run_text.latency_table(runs))]
    charts = [drawn(title, one) for title, one in run_charts(runs)]
    return {**_shown(run_text.sentences(runs), tables, run_text.endnotes(runs)), "charts": charts}


def comparison_shown(made: Comparison) -> dict[str, Any]:
    """Sentences, a table a pair, notes."""
    tables = [(compare_text.title(pair), compare_text.pair_table(pair)) for pair in made.pairs]
    return _shown(compare_text.sentences(made), tables, compare_text.endnotes(made))


def calibration_shown(made: Calibration) -> dict[str, Any]:
    """Sentences, before and after, what was fitted, notes."""
    return _shown(calibrate_text.sentences(made), calibration_tables(made), calibrate_text.endnotes(made))


def _shown(sentences: Iterable[str], tables: Iterable[tuple[str, Table]], notes: Iterable[str]) -> dict[str, Any]:
    return {
        "sentences": list(sentences),
        "tables": [
            {"title": title, "headers": list(headers), "rows": [list(row) for row in rows]}
            for title, (headers, rows) in tables
        ],
        "notes": [line.lstrip("!- ") for line in notes],
        "charts": [],
    }
