"""Six hours of traffic whose every request is known, and the answers that a real Prometheus gave about it.

`python tests/recorded_scene.py` (with the Debian package prometheus) writes the answers anew.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from recorded_engine import (
    SGLANG_LENGTH_EDGES,
    SGLANG_NAMES,
    Floats,
    RecordedEngine,
    Requests,
    drawn,
    openmetrics,
    poisson,
)

START_S = 1_795_000_800.0
HOUR_S = 3600.0
END_S = START_S + 6 * HOUR_S
SCRAPE_S = 60.0
BURST_S = (START_S + 2 * HOUR_S, START_S + 2 * HOUR_S + 480)
"""Eight minutes with 1.5 more requests a second."""
ANSWERS = Path(__file__).parent / "workload" / "data" / "prometheus-answers.json.gz"
MISTRAL = "mistralai/Mistral-7B-Instruct-v0.3"


def times_s() -> Floats:
    """When Prometheus scraped."""
    return np.arange(START_S, END_S + 1, SCRAPE_S)


def vllm_engines() -> list[RecordedEngine]:
    """Two replicas with contexts of 16k and 128k; the second was restarted after four hours."""
    quiet, burst = poisson(0.1, START_S, END_S, 1), poisson(1.5, *BURST_S, seed=2)
    first = RecordedEngine(drawn(np.concatenate([quiet, burst]), 3), 16_384)
    second = drawn(poisson(0.2, START_S, END_S, 4), 5)
    return [first, RecordedEngine(second, 131_072, restarts_s=(START_S + 4 * HOUR_S,))]


def sglang_engines() -> list[RecordedEngine]:
    """One server of another model on two ranks that both show its gauges."""
    requests = drawn(poisson(0.3, START_S, END_S, 6), 7)
    labels = {"model_name": MISTRAL, "engine_type": "unified", "tp_rank": "0"}
    return [RecordedEngine(requests, 0, labels, (), SGLANG_NAMES, "sglang:", SGLANG_LENGTH_EDGES)]


def answered(engines: list[RecordedEngine]) -> Requests:
    """The requests that ended in the window, of all engines."""
    kept = [(each.requests, (each.requests.done_s > START_S) & (each.requests.done_s <= END_S)) for each in engines]
    columns = {
        name: np.concatenate([getattr(rows, name)[which] for rows, which in kept]) for name in Requests.__annotations__
    }
    return Requests(**columns)


def key(path: str, query: str) -> str:
    """A request without its host, its parameters in order."""
    return path + "?" + "&".join(f"{name}={value}" for name, value in sorted(parse_qsl(query)))


def recorded_answers() -> dict[str, Any]:
    """The answers by their request."""
    answers: dict[str, Any] = json.loads(gzip.decompress(ANSWERS.read_bytes()))
    return answers


def _record() -> None:
    import httpx

    import real_prometheus
    from bide.workload.observing.api import connect
    from bide.workload.observing.asking import Connection, Looking
    from bide.workload.observing.observe import observe

    answers: dict[str, Any] = {}

    class Recording(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            response.read()
            parts = urlsplit(str(request.url))
            answers[key(parts.path, parts.query)] = response.json()
            return response

    with tempfile.TemporaryDirectory() as folder:
        real_prometheus.backfilled(Path(folder), openmetrics(vllm_engines(), times_s()))
        with (
            real_prometheus.running(Path(folder)) as address,
            connect(Connection(address), Recording()) as prometheus,
        ):
            observe(prometheus, Looking(6 * HOUR_S, END_S))
    ANSWERS.write_bytes(gzip.compress(json.dumps(answers, separators=(",", ":")).encode(), mtime=0))
    print(f"{len(answers)} answers, {ANSWERS.stat().st_size} bytes")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    _record()
