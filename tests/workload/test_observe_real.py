"""A real Prometheus (Debian package), scraping an exporter and holding days that were recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import real_prometheus
from bide.errors import BadInput
from bide.workload.observing.api import connect
from bide.workload.observing.asking import Connection, Looking
from bide.workload.observing.observation import Observation
from bide.workload.observing.observe import observe
from recorded_engine import MODEL, Floats, RecordedEngine, Requests, drawn, openmetrics, poisson, served
from recorded_scene import END_S, HOUR_S, MISTRAL, START_S, answered, sglang_engines, times_s, vllm_engines

pytestmark = pytest.mark.system
LOOKED_S = 6.0
RATE_RPS = 40.0


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus with six hours of both engines."""
    real_prometheus.needed()
    folder = tmp_path_factory.mktemp("recorded")
    real_prometheus.backfilled(folder, openmetrics([*vllm_engines(), *_ranks()], times_s()))
    with real_prometheus.running(folder) as address:
        yield address


def _ranks() -> list[RecordedEngine]:
    """The SGLang server, and its second rank, which shows the gauges again and counts no request."""
    (server,) = sglang_engines()
    nobody = drawn(np.array([END_S + HOUR_S]), 1)
    return [server, replace(server, requests=nobody, labels={**server.labels, "tp_rank": "1"})]


def look(address: str, looking: Looking) -> Observation:
    with connect(Connection(address)) as prometheus:
        return observe(prometheus, looking)


def assert_within_edges(seen: Observation, truth: Requests) -> None:
    values: dict[str, Floats] = {
        "prompt_tokens": truth.prompt_tokens,
        "output_tokens": truth.output_tokens,
        "ttft": truth.ttft_s,
        "e2e": truth.e2e_s,
    }
    for role, known in values.items():
        for share in (0.5, 0.9, 0.95):
            interval = seen.histograms[role].quantile(share)
            assert interval.low <= np.quantile(known, share, method="inverted_cdf") <= interval.high, (role, share)


def test_known_lengths_and_latencies_are_recovered_within_the_edges(recorded: str) -> None:
    truth = answered(vllm_engines())
    seen = look(recorded, Looking(6 * HOUR_S, END_S, model=MODEL))
    assert_within_edges(seen, truth)
    assert seen.requests == pytest.approx(len(truth), rel=0.01)


def test_sglang_is_read_by_its_own_names_and_ranks_count_once(recorded: str) -> None:
    truth = answered(sglang_engines())
    seen = look(recorded, Looking(6 * HOUR_S, END_S, model=MISTRAL))
    assert (seen.served.engine, seen.served.prefix) == ("sglang", "sglang:")
    assert_within_edges(seen, truth)
    assert seen.requests == pytest.approx(len(truth), rel=0.01)
    assert seen.replicas is not None
    assert seen.prefix_hit_rate == pytest.approx(truth.cached_tokens.sum() / truth.prompt_tokens.sum(), abs=0.01)


def test_a_longer_window_says_how_much_of_it_has_data(recorded: str) -> None:
    seen = look(recorded, Looking(24 * HOUR_S, END_S, model=MODEL))
    assert seen.rates.covered_s == pytest.approx(6 * HOUR_S, rel=0.05)
    assert any("25% of the window" in note or "26% of the window" in note for note in seen.notes)


def test_several_models_are_a_question(recorded: str) -> None:
    with pytest.raises(BadInput, match=f"{MODEL}, {MISTRAL}"):
        look(recorded, Looking(6 * HOUR_S, END_S))


def test_a_time_before_the_servers_is_one_error(recorded: str) -> None:
    with pytest.raises(BadInput, match="a Prometheus that scrapes vLLM or SGLang"):
        look(recorded, Looking(HOUR_S, START_S - HOUR_S))
    with pytest.raises(BadInput, match="All that it has of these servers is older"):
        look(recorded, Looking(HOUR_S, END_S + 48 * HOUR_S))


def test_an_exporter_that_is_scraped_now(tmp_path: Path) -> None:
    real_prometheus.needed()
    start_s = time.time()
    requests = drawn(poisson(RATE_RPS, start_s - 20, start_s + 60, 8), 9)
    engine = RecordedEngine(requests, 16_384)
    with served(engine) as target, real_prometheus.running(tmp_path, [target], "250ms") as address:
        real_prometheus.wait_for(address, "up == 1")
        time.sleep(LOOKED_S + 1)
        until_s = time.time() - 0.5
        seen = look(address, Looking(LOOKED_S, until_s, step_s=1.0))
    ended = (requests.done_s > until_s - LOOKED_S) & (requests.done_s <= until_s)
    assert seen.requests == pytest.approx(ended.sum(), rel=0.1)
    assert seen.rates.mean_rps == pytest.approx(RATE_RPS, rel=0.2)
    assert seen.scrape_s == pytest.approx(0.25, abs=0.05)
    for share in (0.5, 0.9):
        interval = seen.histograms["prompt_tokens"].quantile(share)
        assert interval.low <= np.quantile(requests.prompt_tokens[ended], share) <= interval.high
