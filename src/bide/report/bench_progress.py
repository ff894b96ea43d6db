"""A measurement while it goes: one line, and how much of it is done."""

from __future__ import annotations

from bide.bench.loads import Load
from bide.bench.measure import Going
from bide.i18n import _
from bide.report.bench_text import duration, load_text


def progress(number: int, load: Load, going: Going) -> str:
    """One line while it goes."""
    ordered = sorted(going.ttft_s)
    ttft = (
        _("TTFT p50 {p50} p95 {p95}").format(
            p50=duration(ordered[len(ordered) // 2]), p95=duration(ordered[int(0.95 * (len(ordered) - 1))])
        )
        if ordered
        else ""
    )
    text = _(
        "{cell}: {load}, {s:.0f} s, {n:,} done ({rate:.1f}/s), {flying:,} in flight, {bad} failed of the last; {ttft}"
    )
    return text.format(
        cell=number + 1,
        load=load_text(load),
        s=going.elapsed_s,
        n=going.finished,
        rate=going.finished / going.elapsed_s if going.elapsed_s > 0 else 0.0,
        flying=going.in_flight,
        bad=going.failed,
        ttft=ttft,
    )


def share_done(load: Load, going: Going) -> float | None:
    """Of the level: by requests or by time, whichever ends it; None for a trace, whose end is not said."""
    shares = []
    if load.requests:
        shares.append(going.finished / load.requests)
    if load.duration_s:
        shares.append(going.elapsed_s / load.duration_s)
    return min(1.0, max(shares)) if shares else None
