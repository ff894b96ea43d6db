"""A comparison as Markdown, as CSV and as one self-contained page."""

from __future__ import annotations

import csv
import io

from bide.calibrate.comparing import Comparison
from bide.report.compare_text import endnotes, pair_table, sentences, title
from bide.report.markdown import bullets, plain, table
from bide.report.page import page


def compare_markdown(made: Comparison) -> str:
    """Sentences, a table a pair, notes."""
    parts = [f"**{plain(text)}**" for text in sentences(made)]
    for pair in made.pairs:
        parts += ["  \n".join(plain(line) for line in title(pair).splitlines()), table(*pair_table(pair))]
    return "\n\n".join([*parts, bullets(line.lstrip("!- ") for line in endnotes(made))]) + "\n"


def compare_csv(made: Comparison) -> str:
    """A row a figure; seconds, and rates a second; empty where there is no interval."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["a", "b", "metric", "percent", "a_value", "a_low", "a_high", "b_value", "b_low", "b_high", "ratio", "verdict"]
    )
    for pair in made.pairs:
        for row in pair.rows:
            where = ["mean" if row.percent is None else f"{row.percent:g}"]
            a, b = ([each.value, each.low, each.high] for each in (row.a, row.b))
            writer.writerow([pair.a.name, pair.b.name, row.metric, *where, *a, *b, row.ratio, row.verdict])
    return text.getvalue()


def compare_page(made: Comparison) -> str:
    """Needs jinja2."""
    head, *more = sentences(made)
    tables = [(title(pair), pair_table(pair)) for pair in made.pairs]
    return page(
        "tables.html.j2",
        kicker="bide compare",
        sentence=head,
        more=more,
        tables=tables,
        notes=[line.lstrip("!- ") for line in endnotes(made)],
    )
