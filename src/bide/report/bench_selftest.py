"""The selftest of the load generator in words."""

from __future__ import annotations

from collections.abc import Iterator

from bide.bench.selftest import ITL_P99_WITHIN, SENT_WITHIN_S, TTFT_WITHIN, Line, Selftest
from bide.i18n import _, numeral
from bide.report.bench_text import duration

_LATE_S = 0.002


def selftest_sentences(found: Selftest) -> Iterator[str]:
    """What may be believed."""
    if found.most_streams:
        yield _("This machine measures up to {n:,} streams at once right.").format(n=found.most_streams)
    else:
        yield _("This machine measures nothing right just now: it is too busy, or too slow.")
    off = [_load(line) for line in found.lines if not line.right]
    if off:
        text = _("Not at {loads}: there a result would be of this machine as much as of the server.")
        yield text.format(loads=", ".join(off))
    late_s = max((line.server_late_s for line in found.lines if line.name != "instant"), default=0.0)
    if late_s > _LATE_S:
        yield _("The truth server itself was late by {late} on average: other programs use this machine.").format(
            late=duration(late_s)
        )


def selftest_notes() -> Iterator[str]:
    """What the columns are."""
    text = _("right: TTFT and TPOT (means) within {mean}, ITL p99 within {tail} of what the server wrote")
    within = {"mean": numeral(TTFT_WITHIN, ".0%"), "tail": numeral(ITL_P99_WITHIN, ".0%")}
    yield "- " + text.format(**within)
    text = _(
        "instant: answers of one token at once; right where 99 in 100 requests are written within {s} of being due"
    )
    yield "- " + text.format(s=duration(SENT_WITHIN_S))
    yield "- " + _("CPU/1k tokens: of the client, for 1,000 streamed tokens; each load is measured once")


def _load(line: Line) -> str:
    text = _("{n:,.0f} streams") if line.name == "closed" else _("{n:,.0f} requests/s")
    return text.format(n=line.level) + ("" if line.name != "instant" else _(", instant"))


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
        timed = line.name != "instant"
        rows.append(
            [
                _load(line),
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
