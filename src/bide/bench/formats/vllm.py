"""`vllm bench serve`: summaries in milliseconds, arrays in seconds (vllm/benchmarks/serve.py, 0.6 to 0.33).

Its failures have a latency of 0 and, in some versions, no error text; `start_times` are when a request was sent,
after the client's own limit of concurrency; older files lack `failed`, `latencies` and `start_times`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.chunks import tokens_at
from bide.bench.formats.faults import drafts_accepted, in_band_errors, itl_of_chunks, ttft_of_chunks, warnings_of_counts
from bide.bench.formats.numbers import MS, count, items, named_figures, number, positive, words
from bide.bench.formats.values import Asked, Fault, Figures, Metric, Run
from bide.i18n import _, ngettext
from bide.records import RequestTable

TOOL = "vllm bench serve"
_NAMES: Mapping[Metric, str] = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2el"}
_LATE = 0.1
_STATED = {
    "model_id": "model",
    "gpu": "gpu",
    "hardware": "gpu",
    "tp": "tp",
    "tensor_parallel_size": "tp",
    "pp": "pp",
    "engine_version": "engine_version",
    "vllm_version": "engine_version",
    "kv_dtype": "kv_dtype",
    "weights": "weights",
}


def is_vllm(found: Mapping[str, Any]) -> bool:
    return "model_id" in found and "request_throughput" in found and ("num_prompts" in found or "completed" in found)


def vllm_run(found: Mapping[str, Any], source: str) -> Run:
    """The table where the details are there, else the summary."""
    load, stated = _load(found), stated_keys(found)
    said: dict[str, Any] = {
        "duration_s": positive(found.get("duration")),
        "deployment": stated,
        "date": words(found.get("date")) or "",
    }
    drafts = list(drafts_accepted(positive(found.get("spec_decode_acceptance_length"))))
    table, notes = _table(found, load)
    if table is not None:
        return run_of_table(table, source, TOOL, load, (in_band_errors(TOOL), *drafts, *notes), **said)
    return _summary(found, source, load, (*drafts, *notes), said)


def stated_keys(found: Mapping[str, Any]) -> dict[str, Any]:
    """What metadata keys say of the deployment."""
    return {key: found[name] for name, key in _STATED.items() if found.get(name) not in (None, "", "none")}


def _load(found: Mapping[str, Any]) -> Asked:
    """A rate where there is one; else clients; else all at once. A rate that rises on the way is no one load."""
    if found.get("ramp_up_strategy") is not None:
        return Asked("unknown")
    rate, clients, prompts = (positive(found.get(name)) for name in ("request_rate", "max_concurrency", "num_prompts"))
    if rate is not None:
        return Asked("requests_per_s", rate, positive(found.get("burstiness")) or 1.0)
    if clients is not None and (prompts is None or clients < prompts):
        return Asked("concurrency", clients)
    return Asked("batch", prompts) if prompts else Asked("unknown")


def _summary(
    found: Mapping[str, Any], source: str, load: Asked, notes: tuple[Fault, ...], said: Mapping[str, Any]
) -> Run:
    completed, failed = count(found.get("completed")), count(found.get("failed"))
    if failed is None and completed is not None and (asked := count(found.get("num_prompts"))):
        failed = max(0, asked - completed)
    latency = _latency(found, completed)
    rate, tokens = positive(found.get("request_throughput")), positive(found.get("output_throughput"))
    concurrency = None
    if rate and "e2e" in latency and latency["e2e"].mean_s:
        concurrency = rate * latency["e2e"].mean_s  # Little's law
    faults = [in_band_errors(TOOL), *notes, ttft_of_chunks(TOOL), *itl_of_chunks(TOOL, latency)]
    faults += _waited(found, load, latency)
    faults += warnings_of_counts(completed, failed, None, load)
    return Run(
        source,
        TOOL,
        load,
        completed=completed,
        failed=failed,
        prompt_tokens=_each(found, "total_input_tokens", completed),
        output_tokens=_each(found, "total_output_tokens", completed),
        requests_per_s=rate,
        output_tokens_per_s=tokens,
        concurrency=concurrency,
        latency=latency,
        faults=tuple(faults),
        **said,
    )


def _waited(found: Mapping[str, Any], load: Asked, latency: Mapping[Metric, Figures]) -> Iterator[Fault]:
    """Requests that waited for the client's own limit beside a rate: newer files say how long, in no other figure."""
    limit, waited = positive(found.get("max_concurrency")), named_figures(found, "_client_queue_time_ms", MS)
    if load.kind != "requests_per_s" or limit is None:
        return
    first_s = latency["ttft"].mean_s if "ttft" in latency else None
    if waited is None or waited.mean_s is None or first_s is None:
        text = _("a limit of {n:g} clients beside a rate: waiting in the client is not in its times")
        yield Fault("client_limit", text.format(n=limit), "unusable")
    elif waited.mean_s > _LATE * first_s:
        text = _("requests waited {late:.3g} ms in the client on average, beside a TTFT of {ttft:.3g} ms")
        yield Fault("client_limit", text.format(late=waited.mean_s * 1e3, ttft=first_s * 1e3), "unusable")


def _each(found: Mapping[str, Any], name: str, completed: int | None) -> float | None:
    total = positive(found.get(name))
    return total / completed if total and completed else None


def _latency(found: Mapping[str, Any], completed: int | None) -> dict[Metric, Figures]:
    """`mean_ttft_ms` and the like. An ITL is of as many gaps as nobody says."""
    named = ((metric, f"_{name}_ms", completed if metric != "itl" else None) for metric, name in _NAMES.items())
    return {metric: made for metric, suffix, of in named if (made := named_figures(found, suffix, MS, of))}


def _table(found: Mapping[str, Any], load: Asked) -> tuple[RequestTable | None, list[Fault]]:
    """A row a request, from the arrays of --save-detailed; None where they are not all there."""
    ttfts, itls = items(found.get("ttfts")), items(found.get("itls"))
    prompts, outputs = items(found.get("input_lens")), items(found.get("output_lens"))
    rows = len(ttfts)
    if not rows or not rows == len(itls) == len(prompts) == len(outputs):
        return None, []
    starts, waits = items(found.get("start_times")), items(found.get("queue_times"))
    if len(starts) != rows:
        note = _("older file without start times: only means and percentiles of single requests are in it")
        return None, [Fault("no_start_times", note)]
    errors, latencies = items(found.get("errors")), items(found.get("latencies"))
    made = [
        _Row.of(
            number(starts[row]) or 0.0,
            (number(waits[row]) or 0.0) if len(waits) == rows and load.kind == "requests_per_s" else 0.0,
            number(ttfts[row]) or 0.0,
            [number(gap) or 0.0 for gap in items(itls[row])],
            count(prompts[row]) or 0,
            count(outputs[row]) or 0,
            str(errors[row] or "") if len(errors) == rows else "",
            number(latencies[row]) if len(latencies) == rows else None,
        )
        for row in range(rows)
    ]
    return _assembled(made), list(_notes(made))


class _Row:
    """One request: when its chunks came, and how many tokens it had."""

    __slots__ = ("arrival_s", "chunks", "error", "ok", "output", "prompt", "role", "sent_s")

    def __init__(self, arrival_s: float, sent_s: float, prompt: int, output: int, error: str) -> None:
        self.arrival_s, self.sent_s, self.prompt, self.output, self.error = arrival_s, sent_s, prompt, output, error
        self.chunks: list[float] = []
        self.ok, self.role = False, False

    @classmethod
    def of(
        cls,
        start_s: float,
        wait_s: float,
        ttft_s: float,
        gaps: list[float],
        prompt: int,
        output: int,
        error: str,
        latency_s: float | None,
    ) -> _Row:
        row = cls(start_s - max(0.0, wait_s), start_s, prompt, output, error)
        row.ok = not error and ttft_s > 0 and output > 0 and latency_s != 0.0
        if row.ok:
            times = [start_s + ttft_s]
            for gap in gaps:
                times.append(times[-1] + max(0.0, gap))
            row.role = len(times) == output + 1
            row.chunks = times[1:] if row.role else times
        return row


def _assembled(rows: list[_Row]) -> RequestTable:
    import numpy as np

    rows = sorted(rows, key=lambda row: row.arrival_s)
    origin = rows[0].arrival_s
    times = tuple(tokens_at(np.array(row.chunks) - origin, row.output if row.ok else 0) for row in rows)
    firsts = [int((each == each[0]).sum()) if len(each) else 0 for each in times]
    return RequestTable.of(
        np.array([row.arrival_s for row in rows]) - origin,
        np.array([each[0] if len(each) else np.nan for each in times]),
        np.array([each[-1] if len(each) else np.nan for each in times]),
        np.array([row.prompt for row in rows], dtype=np.int64),
        np.array([row.output if row.ok else 0 for row in rows], dtype=np.int64),
        sent_s=np.array([row.sent_s for row in rows]) - origin,
        first_chunk_tokens=np.array(firsts, dtype=np.int64),
        status=np.array(["ok" if row.ok else "failed" for row in rows]),
        error=np.array([row.error for row in rows]),
        token_times_s=times,
    )


def _notes(rows: list[_Row]) -> Iterator[Fault]:
    good = [row for row in rows if row.ok]
    apart = [row for row in good if row.role]
    if apart:
        text = ngettext(
            "{n:,} of {all:,} answers begins with a chunk that holds no token: TTFT counts to the one after it",
            "{n:,} of {all:,} answers begin with a chunk that holds no token: TTFT counts to the one after it",
            len(apart),
        )
        yield Fault("role_only_ttft", text.format(n=len(apart), all=len(good)))
    several = sum(len(row.chunks) < row.output for row in good)
    if several:
        text = ngettext(
            "{n:,} answer came with several tokens a chunk: time between tokens is spread over them",
            "{n:,} answers came with several tokens a chunk: time between tokens is spread over them",
            several,
        )
        yield Fault("several_tokens_a_chunk", text.format(n=several))
    silent = sum(not row.ok and not row.error for row in rows)
    if silent:
        yield Fault(
            "silent_failures",
            ngettext(
                "{n:,} request failed without an error text", "{n:,} requests failed without an error text", silent
            ).format(n=silent),
        )
