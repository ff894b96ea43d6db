"""An observation from answers that a real Prometheus gave about traffic whose every request is known."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest

import bide
from bide.errors import BadInput
from bide.workload.observing.api import connect
from bide.workload.observing.asking import Connection, Looking
from bide.workload.observing.observation import Observation
from bide.workload.observing.observe import observe
from recorded_engine import Requests
from recorded_scene import BURST_S, END_S, HOUR_S, answered, key, recorded_answers, vllm_engines

LOOKING = Looking(6 * HOUR_S, END_S)
NOTHING: dict[str, Any] = {"status": "success", "data": {"result": []}}


def seen_in(answers: dict[str, Any], looking: Looking = LOOKING, others: dict[str, Any] | None = None) -> Observation:
    def answer(request: httpx.Request) -> httpx.Response:
        parts = urlsplit(str(request.url))
        found = answers.get(key(parts.path, parts.query), others)
        assert found is not None, f"nobody recorded {parts.query}"
        return httpx.Response(200, json=found)

    with connect(Connection("http://prom"), httpx.MockTransport(answer)) as prometheus:
        return observe(prometheus, looking)


@pytest.fixture(scope="module")
def seen() -> Observation:
    return seen_in(recorded_answers())


@pytest.fixture(scope="module")
def truth() -> Requests:
    return answered(vllm_engines())


def test_every_true_percentile_lies_in_its_interval(seen: Observation, truth: Requests) -> None:
    tpot = truth.tpot_s[truth.output_tokens > 1]
    known = {
        "prompt_tokens": truth.prompt_tokens,
        "output_tokens": truth.output_tokens,
        "ttft": truth.ttft_s,
        "tpot": tpot,
        "e2e": truth.e2e_s,
    }
    assert set(seen.histograms) == set(known)
    for role, values in known.items():
        for share in (0.5, 0.9, 0.95, 0.99):
            interval = seen.histograms[role].quantile(share)
            assert interval.low <= np.quantile(values, share, method="inverted_cdf") <= interval.high, (role, share)
        # What fell between the last scrape and the restart of one replica is lost.
        assert seen.histograms[role].mean.mid == pytest.approx(values.mean(), rel=0.02), role


def test_the_likely_percentiles_are_near(seen: Observation, truth: Requests) -> None:
    for share in (0.5, 0.9, 0.95, 0.99):
        likely = seen.histograms["prompt_tokens"].quantile(share).mid
        assert likely == pytest.approx(np.quantile(truth.prompt_tokens, share), rel=0.15)


def test_counts_add_up_over_replicas_and_a_restart(seen: Observation, truth: Requests) -> None:
    assert seen.requests == pytest.approx(len(truth), rel=0.01)
    assert seen.counts["finished"] == pytest.approx(len(truth), rel=0.01)
    assert list(seen.reasons)[:2] == ["stop", "length"]
    assert seen.reasons["length"] / seen.counts["finished"] == pytest.approx(0.1, abs=0.01)
    assert seen.prefix_hit_rate == pytest.approx(truth.cached_tokens.sum() / truth.prompt_tokens.sum(), abs=0.01)
    assert seen.replicas is not None
    assert (seen.replicas.mean, seen.replicas.largest) == (2.0, 2.0)


def test_edges_that_only_one_replica_has_are_left_out(seen: Observation) -> None:
    # 16k: 1, 2, 5, ..., 10,000; 128k goes on to 100,000, so no prompt reaches 200,000.
    prompt = seen.histograms["prompt_tokens"]
    assert prompt.edges[-2] == 10_000
    assert prompt.top == 199_999


def test_the_peak_is_the_burst(seen: Observation, truth: Requests) -> None:
    assert (seen.scrape_s, seen.rates.step_s) == (60.0, 240.0)
    assert BURST_S[0] < seen.peak_at.timestamp() <= BURST_S[1] + seen.rates.step_s
    counts = np.histogram(truth.arrival_s, np.arange(LOOKING.since_s, END_S + 1, 240.0))[0]
    assert seen.rates.peak_rps == pytest.approx(counts.max() / 240, rel=0.05)
    assert seen.rates.mean_rps == pytest.approx(len(truth) / (6 * HOUR_S), rel=0.02)
    hours = np.convolve(counts, np.ones(15), "valid") / HOUR_S
    assert seen.rates.busiest_hour_rps == pytest.approx(hours.max(), rel=0.02)


def test_what_the_servers_do_not_tell_is_said(seen: Observation) -> None:
    assert "vllm:request_params_max_tokens" in seen.missing
    assert "vllm:kv_cache_usage_perc" not in seen.missing


def test_json_has_no_infinity(seen: Observation) -> None:
    text = json.dumps(seen.to_dict(), allow_nan=False)
    told = json.loads(text)
    assert told["lengths"]["prompt_tokens"]["buckets"][-1][0] is None
    assert told["lengths"]["max_tokens"] is None
    assert told["traffic"]["peak_rps"] == seen.rates.peak_rps


def test_a_longest_context_bounds_the_last_bucket() -> None:
    looking = replace(LOOKING, max_model_len=16_384)
    assert seen_in(recorded_answers(), looking).histograms["prompt_tokens"].quantile(0.9999).high == 16_384


def test_a_window_without_requests_is_one_error() -> None:
    answers = recorded_answers()
    quiet = {asked: NOTHING if "increase" in asked else answer for asked, answer in answers.items()}
    with pytest.raises(BadInput, match=r"window: got '21,600 s'.*request_prompt_tokens did not grow"):
        seen_in(quiet)


def test_servers_without_histograms_of_lengths_are_one_error() -> None:
    answers = recorded_answers()
    names = next(asked for asked in answers if "__name__/values" in asked)
    rest = [name for name in answers[names]["data"] if "request_prompt_tokens" not in name]
    bare = {**answers, names: {"status": "success", "data": rest}}
    with pytest.raises(BadInput, match="The servers have no vllm:request_prompt_tokens_bucket"):
        seen_in(bare)


def test_requests_that_began_but_never_ended_are_said() -> None:
    answers = recorded_answers()
    few = {"status": "success", "data": {"result": [{"metric": {}, "value": [END_S, "1000"]}]}}
    asked = next(
        asked for asked in answers if "query=sum(increase(vllm:request_success_total" in asked and "step" not in asked
    )
    notes = " ".join(seen_in({**answers, asked: few}).notes)
    assert "got a first token but no end" in notes


def test_without_gauges_rates_are_what_began() -> None:
    answers = recorded_answers()
    names = next(asked for asked in answers if "__name__/values" in asked)
    rest = [name for name in answers[names]["data"] if "waiting" not in name and "kv_cache" not in name]
    seen = seen_in({**answers, names: {"status": "success", "data": rest}})
    assert (seen.waiting, seen.kv_usage, seen.kv_fullest, seen.rates.queue_known) == (None, None, None, False)
    assert "vllm:num_requests_waiting" in seen.missing


@pytest.mark.parametrize("step_s", [1.0, 4 * HOUR_S])
def test_a_step_that_cannot_be(step_s: float) -> None:
    with pytest.raises(BadInput, match="step: got"):
        seen_in(recorded_answers(), replace(LOOKING, step_s=step_s))


def test_what_was_seen_is_a_chart_and_a_page(seen: Observation) -> None:
    assert '"prompt"' in bide.chart(seen).to_json()
    assert bide.html(seen).startswith("<!doctype html>")
