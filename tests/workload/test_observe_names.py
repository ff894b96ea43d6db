"""Finding the one model that is meant among what a Prometheus holds."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bide.errors import BadInput
from bide.facts.engine_metrics import OBSERVED_ENGINES, engine_metrics
from bide.workload.observing.api import Prometheus, connect
from bide.workload.observing.asking import Connection, Looking
from bide.workload.observing.names import find

NEW = ["vllm:num_requests_running", "vllm:kv_cache_usage_perc", "vllm:request_success_total", "vllm:ttft_bucket"]
OLD = ["vllm:num_requests_running", "vllm:gpu_cache_usage_perc", "vllm:gpu_prefix_cache_hits_total"]


def holding(series: list[dict[str, str]], names: list[str], asked: list[dict[str, Any]] | None = None) -> Prometheus:
    def answer(request: httpx.Request) -> httpx.Response:
        if asked is not None:
            asked.append(dict(request.url.params))
        recent = float(request.url.params["start"]) > 0
        data = names if request.url.path.endswith("values") else series if recent or series else []
        return httpx.Response(200, json={"status": "success", "data": data})

    return connect(Connection("http://prom"), httpx.MockTransport(answer))


def gauge(model: str, name: str = "vllm:num_requests_running") -> dict[str, str]:
    return {"__name__": name, "model_name": model, "instance": "a:8000"}


def looking(**given: Any) -> Looking:
    return Looking(3600.0, 1e9, **given)


def test_the_one_model_needs_no_name() -> None:
    asked: list[dict[str, Any]] = []
    names = find(holding([gauge("llama"), gauge("llama")], NEW, asked), looking(labels={"ns": 'a"b\\'}))
    assert (names.served.engine, names.served.model, names.served.prefix) == ("vllm", "llama", "vllm:")
    assert names.select("vllm:x", 90.0) == r'vllm:x{model_name="llama",ns="a\"b\\"}[90s]'
    assert asked[0]["match[]"].endswith(r',ns="a\"b\\"}')


def test_several_models_are_listed() -> None:
    held = holding([gauge("llama"), gauge("qwen")], NEW)
    with pytest.raises(BadInput, match=r"model: missing; allowed: llama, qwen\. --model NAME"):
        find(held, looking())
    assert find(held, looking(model="qwen")).served.model == "qwen"
    with pytest.raises(BadInput, match="Did you mean qwen"):
        find(held, looking(model="qwenn"))


def test_several_engines_are_listed() -> None:
    held = holding([gauge("llama"), gauge("llama", "sglang:num_running_reqs")], NEW)
    with pytest.raises(BadInput, match=r"engine: missing.*sglang.*vllm"):
        find(held, looking())
    assert find(held, looking(engine="sglang")).served.prefix == "sglang:"
    with pytest.raises(BadInput, match="allowed: one of sglang, vllm"):
        find(held, looking(engine="trtllm"))


def test_what_stands_before_the_names_is_found() -> None:
    served = find(holding([gauge("llama", "ray_vllm_num_requests_running")], []), looking()).served
    assert (served.engine, served.prefix) == ("vllm", "ray_vllm_")


def test_nothing_at_all_and_nothing_now_are_two_things() -> None:
    with pytest.raises(BadInput, match="a Prometheus that scrapes vLLM or SGLang"):
        find(holding([], []), looking())

    def only_before(request: httpx.Request) -> httpx.Response:
        data = [gauge("llama")] if float(request.url.params["start"]) == 0 else []
        return httpx.Response(200, json={"status": "success", "data": data})

    held = connect(Connection("http://prom"), httpx.MockTransport(only_before))
    with pytest.raises(BadInput, match="window: got '3,600 s'"):
        find(held, looking())


def test_names_by_version() -> None:
    new, old = find(holding([gauge("m")], NEW), looking()), find(holding([gauge("m")], OLD), looking())
    assert (new.single("kv_usage"), old.single("kv_usage")) == ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
    assert (new.single("prefix_hits"), old.single("prefix_hits")) == (None, "vllm:gpu_prefix_cache_hits_total")
    assert new.wanted("prefix_hits") == "vllm:prefix_cache_hits_total"


def test_a_counter_may_lack_its_ending() -> None:
    held = holding([gauge("m", "ray_vllm_num_requests_running")], ["ray_vllm_request_success"])
    assert find(held, looking()).single("finished") == "ray_vllm_request_success"


def test_ranks_of_sglang_count_once_and_prefill_servers_not() -> None:
    names = find(holding([gauge("m", "sglang:num_running_reqs")], []), looking())
    matchers = '{model_name="m",engine_type!="prefill"}'
    assert names.per_replica("sglang:x") == f"max without(tp_rank,pp_rank,moe_ep_rank) (sglang:x{matchers})"


@pytest.mark.parametrize("engine", OBSERVED_ENGINES)
def test_every_name_has_a_source(engine: str) -> None:
    known = engine_metrics(engine)
    for role in ("prompt_tokens", "output_tokens", "ttft", "tpot", "itl", "e2e", "running", "waiting", "kv_usage"):
        assert known.names[role]
    for metrics in known.names.values():
        assert all(metric.source.text and metric.source.checked for metric in metrics)
