"""A calibration as Markdown, as CSV and as one self-contained page."""

from __future__ import annotations

import csv
import io

from bide.calibrate.calibration import Calibration
from bide.calibrate.points import OBSERVED
from bide.i18n import _
from bide.report.calibrate_text import Table, endnotes, log_table, run_table, sentences, term_table
from bide.report.markdown import bullets, plain, table
from bide.report.page import page


def tables(made: Calibration) -> list[tuple[str, Table]]:
    """Title and table of what there is."""
    found = []
    if made.points:
        found += [(_("Predicted against measured"), run_table(made)), (_("What was fitted"), term_table(made))]
    if made.log is not None:
        found.append((_("The log beside the prediction"), log_table(made)))
    return found


def calibrate_markdown(made: Calibration) -> str:
    """Sentences, tables, notes."""
    parts = [f"**{plain(text)}**" for text in sentences(made)]
    for title, shown in tables(made):
        parts += [f"## {plain(title)}", table(*shown)]
    return "\n\n".join([*parts, bullets(line.lstrip("!- ") for line in endnotes(made))]) + "\n"


def calibrate_csv(made: Calibration) -> str:
    """A row a run and metric, in seconds and tokens a second."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "source",
            "load",
            "value",
            "prompt_tokens",
            "output_tokens",
            "metric",
            "measured",
            "before",
            "after",
            "left_out",
        ]
    )
    for each in made.points:
        point = each.point
        for metric in OBSERVED:
            if metric in point.observed:
                guesses = [which.get(metric) for which in (each.before, each.after, each.left_out)]
                known = [value if value is not None and value == value else None for value in guesses]  # noqa: PLR0124 (NaN)
                where = [each.used.run.source, point.load.kind, point.load.value]
                lengths = [point.mix.prompt_tokens, point.mix.output_tokens]
                writer.writerow([*where, *lengths, metric, point.observed[metric], *known])
    return text.getvalue()


def calibrate_page(made: Calibration) -> str:
    """Needs jinja2."""
    head, *more = sentences(made)
    return page(
        "tables.html.j2",
        kicker="bide calibrate",
        sentence=head,
        more=more,
        tables=tables(made),
        notes=[line.lstrip("!- ") for line in endnotes(made)],
    )
