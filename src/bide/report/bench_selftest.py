"""The selftest of the load generator in words."""

from __future__ import annotations

from collections.abc import Iterator

from bide.bench.selftest import Selftest
from bide.i18n import _, numeral
from bide.report.bench_text import duration


def selftest_sentences(found: Selftest) -> Iterator[str]:
    """What may be believed."""
    if found.most_streams:
        yield _("This machine measures {n:,} streams at once right.").format(n=found.most_streams)
    else:
        yield _("This machine measures nothing right just now: it is too busy, or too slow.")
    late_s = max(line.server_late_s for line in found.lines)
    if late_s > 0.002:
        yield _("The truth server itself was late by {late} on average: other programs use this machine.").format(
            late=duration(late_s)
        )


def selftest_table(found: Selftest) -> tuple[list[str], list[list[str]]]:
    """A row a load."""
    headers = [
        _("load"),
        _("TTFT off"),
        _("TPOT off"),
        _("ITL p99 off"),
        _("due to written p99"),
        _("CPU/1k tokens"),
        "",
    ]
    rows = []
    for line in found.lines:
        load = _("{n:,.0f} streams") if line.name == "closed" else _("{n:,.0f} requests/s")
        timed = line.name != "instant"
        rows.append(
            [
                load.format(n=line.level) + ("" if timed else _(", instant")),
                *(
                    numeral(error, "+.1%") if timed else "-"
                    for error in (line.ttft_error, line.tpot_error, line.itl_p99_error)
                ),
                duration(line.sent_p99_s),
                _("{n} ms").format(n=numeral(line.cpu_ms_per_1000_tokens, ".3g")) if timed else "-",
                _("right") if line.right else _("off"),
            ]
        )
    return headers, rows
