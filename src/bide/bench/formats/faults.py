"""What is known to be wrong with results, as values; and what a request table itself betrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bide import metrics
from bide.bench.formats.values import Asked, Fault, Figures, Metric
from bide.i18n import _, ngettext

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bide.records import RequestTable

_FEWEST = 20
_ENOUGH = 100
_FAILED_SHARE = 0.05
_HITS = 0.01
_ROLE_TIMES = 5.0
"""The prompt's work falls between first and second chunk where the first is so much earlier."""
_BEHIND = 0.9
_OTHER_CHUNKS = 0.1
_CHANCE = 3.0
"""Standard deviations."""


def client_time_per_token(tool: str) -> Fault:
    """Its TPOT divides by all tokens, the first included."""
    text = _(
        "{tool}: its time_per_output_token counts the first token's wait; its inter_token_latency was read as TPOT"
    )
    return Fault("tpot_with_first_token", text.format(tool=tool))


def half_itl() -> Fault:
    """inference-perf counts chunks without text as tokens."""
    text = _("inference-perf's time per token counts every chunk, so that it can be half the truth: not used")
    return Fault("half_itl", text, "distrust", ("itl",))


def in_band_errors(tool: str) -> Fault:
    """Errors inside a 200 stream pass for answers there."""
    text = _("{tool} takes an answer that broke off with an error in its stream for a success: failures may be in here")
    return Fault("errors_as_success", text.format(tool=tool))


def ttft_of_chunks(tool: str) -> Fault:
    """A first chunk that only names the role counts there as the first token."""
    text = _(
        "{tool} times the first chunk, which may hold no token: TTFT may be too short where requests are not listed"
    )
    return Fault("role_only_ttft", text.format(tool=tool))


def itl_of_chunks(tool: str, latency: Mapping[Metric, Figures]) -> Iterator[Fault]:
    """A summary's ITL between chunks: not used where its mean is not TPOT's, which says what chunks hold."""
    itl, tpot = (latency[metric].mean_s if metric in latency else None for metric in ("itl", "tpot"))
    if itl and tpot and abs(itl / tpot - 1) > _OTHER_CHUNKS:
        text = _("{tool}: time between chunks is {ratio:.2g} times TPOT, so chunks are no tokens: ITL is not used")
        yield Fault("itl_of_chunks", text.format(tool=tool, ratio=itl / tpot), "distrust", ("itl",))
    elif "itl" in latency:
        text = _("{tool}: its time between tokens is between chunks, whatever they hold")
        yield Fault("itl_of_chunks", text.format(tool=tool))


def drafts_accepted(tokens_a_step: float | None) -> Iterator[Fault]:
    """Speculative decoding that the result tells by what its steps brought."""
    if tokens_a_step and tokens_a_step > 1:
        text = _("drafts were accepted, {n:.2f} tokens a step: say --speculative-tokens")
        yield Fault("speculative", text.format(n=tokens_a_step))


def shared_prefixes() -> Fault:
    text = _("prompts share prefixes or go on from earlier turns: the cache hides prefill")
    return Fault("prefix_hits", text, "unusable")


def apart() -> Fault:
    text = _("prefill and decode run on GPUs of their own: not one deployment")
    return Fault("apart", text, "unusable")


def client_limit(asked: Asked, limit: float | None, in_flight: float | None) -> Iterator[Fault]:
    """A limit of clients beside a rate, which may have held requests back: times count from behind it.

    Of Poisson arrivals about as many are in flight as the mean, give or take its root.
    """
    if asked.kind != "requests_per_s" or limit is None:
        return
    if in_flight is None or in_flight + _CHANCE * math.sqrt(in_flight) > limit:
        text = _("a limit of {n:g} clients beside a rate: waiting in the client is not in its times")
        yield Fault("client_limit", text.format(n=limit), "unusable")


def unknown_load() -> Fault:
    return Fault("load_unknown", _("the result does not say what load was asked for"), "unusable")


def warnings_of_counts(
    completed: int | None, failed: int | None, cached_share: float | None, load: Asked
) -> Iterator[Fault]:
    """Too few, too many failed, answers out of the cache."""
    if load.kind == "unknown" or load.value is None:
        yield unknown_load()
    if completed is not None and not completed:
        yield Fault("nothing_completed", _("no request went well"), "unusable")
    elif completed is not None and completed < _FEWEST:
        yield Fault(
            "few_requests",
            ngettext("{n:,} request: too few to learn from", "{n:,} requests: too few to learn from", completed).format(
                n=completed
            ),
            "unusable",
        )
    elif completed is not None and completed < _ENOUGH:
        yield Fault(
            "few_requests",
            ngettext("{n:,} request: means are rough", "{n:,} requests: means are rough", completed).format(
                n=completed
            ),
        )
    if failed and failed > _FAILED_SHARE * (failed + (completed or 0)):
        text = ngettext(
            "{n:,} of {all:,} requests failed: the server did less work than it was asked for",
            "{n:,} of {all:,} requests failed: the server did less work than it was asked for",
            failed,
        )
        yield Fault("failures", text.format(n=failed, all=failed + (completed or 0)), "unusable")
    elif failed:
        yield Fault("failures", ngettext("{n:,} request failed", "{n:,} requests failed", failed).format(n=failed))
    if cached_share is not None and cached_share > _HITS:
        text = _("{share:.1%} of prompt tokens came from the prefix cache: prefill looks faster than it is")
        yield Fault("prefix_hits", text.format(share=cached_share), "unusable")


def warnings_of_table(table: RequestTable, load: Asked) -> Iterator[Fault]:
    """Times that cannot be what they are called."""
    import numpy as np

    ok = table.status == "ok"
    ttft, e2e = metrics.ttft_s(table)[ok], metrics.e2e_s(table)[ok]
    if not len(e2e):
        return
    second, later = _second_gap_s(table, ok)
    first_s = float(np.nanmedian(ttft)) if np.isfinite(ttft).any() else 0.0
    if second > _ROLE_TIMES * max(first_s, 1e-9) and second > _ROLE_TIMES * later > 0:
        text = _("the first chunk comes {n:.0f} times as fast as the second: it held no token, TTFT is not one")
        where: tuple[Metric, ...] = ("ttft", "tpot", "itl")
        yield Fault("role_only_ttft", text.format(n=second / max(first_s, 1e-9)), "distrust", where)
    late = table.sent_s - table.arrival_s
    worst = float(np.nanpercentile(late[ok], 99)) if np.isfinite(late[ok]).any() else 0.0
    if load.kind == "requests_per_s" and worst > 0.1 * float(np.nanmedian(e2e)):
        text = _("requests were sent up to {s:.3g} s after they were due: the client did not keep up")
        yield Fault("client_late", text.format(s=worst), "unusable")


def _second_gap_s(table: RequestTable, ok: NDArray[np.bool_]) -> tuple[float, float]:
    """Medians of the wait from the first chunk to the second, and of the later ones; zeros without token times."""
    import numpy as np

    seconds, later = [], []
    times = table.token_times_s or ()
    for row in np.flatnonzero(ok).tolist() if times else ():
        gaps = np.diff(np.unique(times[row]))
        if len(gaps) > 2:
            seconds.append(gaps[0])
            later.append(float(np.median(gaps[1:])))
    return (float(np.median(seconds)), float(np.median(later))) if seconds else (0.0, 0.0)


def client_behind(asked: Asked, concurrency: float | None) -> Iterator[Fault]:
    """Clients that were never all in flight: the client, not the server, set the pace."""
    if asked.kind == "concurrency" and asked.value and concurrency and concurrency < _BEHIND * asked.value:
        text = _("{got:.3g} requests were in flight of {asked:g} asked: the client was saturated, or the run too short")
        yield Fault("not_in_flight", text.format(got=concurrency, asked=asked.value), "distrust", ())
