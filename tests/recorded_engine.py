"""An engine that never runs: requests with known lengths and times, told to Prometheus as vLLM 0.33 tells its own.

Names, labels and buckets as in vLLM 0.33.0's published wheel, v1/metrics/loggers.py and buckets.py.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MODEL = "meta-llama/Llama-3.1-8B-Instruct"
TTFT_EDGES = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
    20,
    40,
    80,
    160,
    640,
    2560,
)
TOKEN_GAP_EDGES = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
E2E_EDGES = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
REASONS = ("stop", "length", "abort", "error", "repetition")


SGLANG_NAMES = {
    "num_requests_running": "num_running_reqs",
    "num_requests_waiting": "num_queue_reqs",
    "kv_cache_usage_perc": "token_usage",
    "num_preemptions_total": "num_retracted_requests_total",
    "prefix_cache_queries_total": "prompt_tokens_total",
    "prefix_cache_hits_total": "cached_tokens_total",
    "request_success_total": "num_requests_total",
    "request_prompt_tokens": "prompt_tokens_histogram",
    "request_generation_tokens": "generation_tokens_histogram",
}
"""SGLang 0.5.23's names (published wheel, srt/observability/metrics_collector.py)."""
SGLANG_LENGTH_EDGES = (
    100,
    300,
    500,
    700,
    1000,
    1500,
    2000,
    3000,
    4000,
    5000,
    6000,
    7000,
    8000,
    9000,
    10000,
    20000,
    40000,
)
"""The lower of its edges."""


def token_edges(max_model_len: int) -> tuple[int, ...]:
    """1, 2, 5, 10, ... up to the longest context."""
    series = [step * 10**power for power in range(9) for step in (1, 2, 5)]
    return tuple(edge for edge in series if edge <= max_model_len)


@dataclass(frozen=True)
class Requests:
    """One row a request: when it came (s), how long it waited (s), its lengths and its time per token (s)."""

    arrival_s: Floats
    wait_s: Floats
    prefill_s: Floats
    tpot_s: Floats
    prompt_tokens: Floats
    output_tokens: Floats
    cached_tokens: Floats

    def __len__(self) -> int:
        return len(self.arrival_s)

    @property
    def ttft_s(self) -> Floats:
        return self.wait_s + self.prefill_s

    @property
    def first_s(self) -> Floats:
        return self.arrival_s + self.ttft_s

    @property
    def e2e_s(self) -> Floats:
        return self.ttft_s + self.tpot_s * (self.output_tokens - 1)

    @property
    def done_s(self) -> Floats:
        return self.arrival_s + self.e2e_s


def drawn(arrival_s: Floats, seed: int, wait_s: float = 0.05) -> Requests:
    """Requests with lognormal lengths: prompts of 900 tokens in the median, answers of 40."""
    random, count = np.random.default_rng(seed), len(arrival_s)
    prompt = np.clip(np.rint(np.exp(random.normal(math.log(900), 0.9, count))), 1, 16_000)
    output = np.clip(np.rint(np.exp(random.normal(math.log(40), 1.0, count))), 1, 4_000)
    wait, tpot = random.exponential(wait_s, count), random.uniform(0.012, 0.03, count)
    return Requests(np.sort(arrival_s), wait, prompt * 3e-5, tpot, prompt, output, np.floor(prompt * 0.25))


def poisson(rate_rps: float, start_s: float, end_s: float, seed: int) -> Floats:
    """Arrival times at a constant rate."""
    random = np.random.default_rng(seed)
    return np.sort(random.uniform(start_s, end_s, random.poisson(rate_rps * (end_s - start_s))))


@dataclass(frozen=True)
class Series:
    """A name with labels, and its values at the times that were asked for."""

    name: str
    labels: Mapping[str, str]
    values: Floats


@dataclass(frozen=True)
class RecordedEngine:
    """One replica; `restarts_s` are times at which its counters begin again at 0.

    The metrics are vLLM's unless `prefix` and `rename` make another engine's of them.
    """

    requests: Requests
    max_model_len: int = 16_384
    labels: Mapping[str, str] = field(default_factory=dict)
    restarts_s: Sequence[float] = ()
    rename: Mapping[str, str] = field(default_factory=dict)
    prefix: str = "vllm:"
    length_edges: Sequence[float] = ()

    def series(self, times_s: Floats) -> Iterator[Series]:
        """Every series, in the order in which the exposition shows them."""
        rows, own = self.requests, {"engine": "0", "model_name": MODEL, **self.labels}
        came, done = (self._below(when, times_s) for when in (rows.arrival_s, rows.done_s))
        admitted = self._below(rows.arrival_s + rows.wait_s, times_s)
        yield self._named("num_requests_running", own, admitted - done)
        yield self._named("num_requests_waiting", own, came - admitted)
        yield self._named("kv_cache_usage_perc", own, np.minimum(1.0, (admitted - done) / 64))
        counted = self._counter
        yield self._named("num_preemptions_total", own, counted(rows.done_s[::50], times_s))
        for name, weights in (("queries", rows.prompt_tokens), ("hits", rows.cached_tokens)):
            yield self._named(f"prefix_cache_{name}_total", own, counted(rows.first_s, times_s, weights))
        for reason in REASONS:
            which = np.arange(len(rows)) % 10 == 0 if reason == "length" else np.arange(len(rows)) % 10 != 0
            values = counted(rows.done_s[which], times_s) if reason in REASONS[:2] else 0.0 * times_s
            yield self._named("request_success_total", {**own, "finished_reason": reason}, values)
        tokens = self.length_edges or token_edges(self.max_model_len)
        tpot = np.where(rows.output_tokens > 1, rows.tpot_s, 0.0)
        yield from self._histogram("request_prompt_tokens", own, rows.done_s, rows.prompt_tokens, tokens, times_s)
        yield from self._histogram("request_generation_tokens", own, rows.done_s, rows.output_tokens, tokens, times_s)
        yield from self._histogram("time_to_first_token_seconds", own, rows.first_s, rows.ttft_s, TTFT_EDGES, times_s)
        yield from self._histogram(
            "request_time_per_output_token_seconds", own, rows.done_s, tpot, TOKEN_GAP_EDGES, times_s
        )
        yield from self._histogram("e2e_request_latency_seconds", own, rows.done_s, rows.e2e_s, E2E_EDGES, times_s)

    def exposition(self, now_s: float) -> str:
        """What a scrape at that time gets."""
        shown = (f"{_id(each)} {float(each.values[0])!r}" for each in self.series(np.array([now_s])))
        return "\n".join(shown) + "\n"

    def _named(self, name: str, labels: Mapping[str, str], values: Floats) -> Series:
        return Series(self.prefix + self.rename.get(name, name), labels, values)

    def _histogram(
        self,
        name: str,
        labels: Mapping[str, str],
        when_s: Floats,
        values: Floats,
        edges: Sequence[float],
        times_s: Floats,
    ) -> Iterator[Series]:
        name = self.rename.get(name, name)
        for edge in (*edges, math.inf):
            le = "+Inf" if math.isinf(edge) else str(float(edge))
            counts = self._counter(when_s[values <= edge], times_s)
            yield self._named(f"{name}_bucket", {**labels, "le": le}, counts)
        yield self._named(f"{name}_sum", labels, self._counter(when_s, times_s, values))
        yield self._named(f"{name}_count", labels, self._counter(when_s, times_s))

    def _counter(self, when_s: Floats, times_s: Floats, weights: Floats | None = None) -> Floats:
        """Events so far, less those before the last restart."""
        starts = np.array([-math.inf, *self.restarts_s])
        since = starts[np.searchsorted(starts, times_s, side="right") - 1]
        return self._below(when_s, times_s, weights) - self._below(when_s, since, weights)

    @staticmethod
    def _below(when_s: Floats, times_s: Floats, weights: Floats | None = None) -> Floats:
        order = np.argsort(when_s)
        places = np.searchsorted(when_s[order], times_s, side="right")
        sums = np.concatenate(([0.0], np.cumsum(weights[order] if weights is not None else np.ones(len(when_s)))))
        return np.asarray(sums[places])


def _id(series: Series) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in series.labels.items())
    return f"{series.name}{{{labels}}}"


def openmetrics(engines: Sequence[RecordedEngine], times_s: Floats) -> Iterator[str]:
    """All scrapes as OpenMetrics lines with time stamps, for `promtool tsdb create-blocks-from`."""
    for number, engine in enumerate(engines):
        for each in engine.series(times_s):
            instance = {**each.labels, "instance": f"replica-{number}", "job": "vllm"}
            name = _id(Series(each.name, instance, each.values))
            yield from (
                f"{name} {value!r} {when:.3f}"
                for value, when in zip(each.values.tolist(), times_s.tolist(), strict=True)
            )
    yield "# EOF"


@contextmanager
def served(engine: RecordedEngine) -> Iterator[str]:
    """An HTTP server with the engine's /metrics, as `host:port`."""

    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = engine.exposition(time.time()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_said: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
