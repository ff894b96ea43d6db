"""POST /memory and /curve, GET /models and /gpus: what the command line says, and nothing else."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

from web_client import LLAMA, cli, fault, upload

CONFIG = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 128256,
}


def test_memory_is_that_of_the_command_line(client: TestClient) -> None:
    asked = {"deployment": {**LLAMA, "max_model_len": "32k"}, "context_tokens": ["2k", 8192], "mean_tokens": 700}
    asked["services"] = [{"name": "chat", "tokens": 1500, "users": 100}]
    said = cli(
        *("memory", "llama-3.1-8b", "--gpu", "h100-sxm", "--max-model-len", "32k"),
        *("--context", "2k,8192", "--mean-tokens", "700", "--service", "chat:1500:100"),
    )
    assert client.post("/api/v1/memory", json=asked).json() == said


def test_what_does_not_fit_is_an_answer(client: TestClient) -> None:
    answer = client.post("/api/v1/memory", json={"deployment": {"model": "deepseek-v3", "gpu": "l40s"}})
    assert answer.status_code == 200
    assert answer.json()["fits"] is False


def test_curves_are_those_of_the_command_line(client: TestClient) -> None:
    asked = {
        "deployments": [LLAMA, {**LLAMA, "gpu": "l40s"}, {"model": "llama-3.1-8b", "gpu": "a10", "tp": 1}],
        "mixes": [{"prompt_tokens": "1k", "output_tokens": 300}],
        "concurrency": [8, 2],
    }
    flags = (
        "--gpu",
        "h100-sxm",
        "--gpu",
        "l40s",
        "--gpu",
        "a10",
        "--tp",
        "1",
        "--mix",
        "1k:300",
        "--concurrency",
        "2,8",
    )
    said = cli("curve", "llama-3.1-8b", *flags)
    assert client.post("/api/v1/curve", json=asked).json()["curves"] == said["curves"]


def test_what_has_no_curve_says_why(client: TestClient) -> None:
    asked = {"deployment": {"model": "deepseek-v3", "gpu": "l40s"}, "prompt_tokens": 1000, "output_tokens": 10}
    answer = client.post("/api/v1/curve", json=asked)
    assert answer.status_code == 200
    assert not answer.json()["curves"]
    assert "GiB" in answer.json()["not_shown"][0]["reason"]


@pytest.mark.parametrize("query", ["", "?search=qwen", "?search=llama-3.1-8b"])
def test_models_are_those_of_the_command_line(client: TestClient, query: str) -> None:
    name = query.partition("=")[2]
    assert client.get(f"/api/v1/models{query}").json() == cli("models", *filter(None, [name]))


@pytest.mark.parametrize(
    ("query", "flags"), [("", ()), ("?search=h100", ("h100",)), ("?vendor=amd", ("--vendor", "amd"))]
)
def test_gpus_are_those_of_the_command_line(client: TestClient, query: str, flags: tuple[str, ...]) -> None:
    assert client.get(f"/api/v1/gpus{query}").json() == cli("gpus", *flags)


def test_a_name_that_nobody_has_is_said_with_the_nearest(client: TestClient) -> None:
    assert "did you mean" in fault(client.get("/api/v1/models?search=lluma-3.1-8b"))["message"].lower()
    assert fault(client.get("/api/v1/gpus?search=h1000"))["field"] == "search"


def test_a_config_counts_the_same_inline_and_uploaded(client: TestClient) -> None:
    inline = {"config": CONFIG, "name": "mine"}
    sent = upload(client, json.dumps(CONFIG).encode(), "mine.json")
    answers = [
        client.post("/api/v1/memory", json={"deployment": {**LLAMA, "model": it}}).json() for it in (inline, sent)
    ]
    assert answers[0] == answers[1]
    assert answers[0]["model"] == "mine"
    # 2 x 16 layers x 8 heads x (2048 / 32) x 2 B
    assert answers[0]["kv"]["bytes_per_token"] == 2 * 16 * 8 * 64 * 2


def test_gpus_of_a_config_are_laid_out(client: TestClient) -> None:
    deployment = {"model": {"config": CONFIG}, "gpu": "l40s", "gpus": 4}
    asked = {"deployment": deployment, "prompt_tokens": 100, "output_tokens": 10, "batch": 4}
    curve = client.post("/api/v1/curve", json=asked).json()["curves"][0]
    assert (curve["tp"], curve["pp"]) == (4, 1)


@pytest.mark.parametrize(
    ("path", "asked", "field"),
    [
        ("memory", {}, "deployment"),
        ("memory", {"deployment": {"model": "llama-3.1-8b"}}, "gpu"),
        ("memory", {"deployment": {**LLAMA, "tp": "two"}}, "deployment.tp"),
        ("memory", {"deployment": {**LLAMA, "tp": 3}}, "tp"),
        ("memory", {"deployment": {**LLAMA, "tpp": 3}}, "deployment.tpp"),
        ("memory", {"deployment": LLAMA, "context_tokens": ["8q"]}, "context_tokens"),
        ("memory", {"deployment": LLAMA, "services": [{"name": "a", "tokens": 0, "users": 1}]}, "services[0].tokens"),
        ("curve", {"prompt_tokens": 1, "output_tokens": 1}, "deployments"),
        ("curve", {"deployment": LLAMA, "prompt_tokens": 10}, "output_tokens"),
        ("curve", {"deployment": LLAMA, "prompt_tokens": 9, "output_tokens": 9, "batch": 1, "concurrency": 1}, "batch"),
        ("curve", {"deployment": {**LLAMA, "gpu": None}, "prompt_tokens": 9, "output_tokens": 9}, "gpu"),
    ],
)
def test_what_is_wrong_is_named(client: TestClient, path: str, asked: object, field: str) -> None:
    assert fault(client.post(f"/api/v1/{path}", json=asked))["field"] == field


def test_errors_speak_the_language_that_was_asked_for(client: TestClient) -> None:
    asked = {"deployment": {"model": "nobody", "gpu": "h100-sxm"}}
    english = fault(client.post("/api/v1/memory", json=asked))
    russian = fault(client.post("/api/v1/memory?lang=ru", json=asked))
    header = fault(client.post("/api/v1/memory", json=asked, headers={"accept-language": "ru-RU,en;q=0.5"}))
    assert russian == header
    assert english["field"] == russian["field"]


def test_the_same_question_is_worked_out_once(client: TestClient) -> None:
    asked = {"deployment": {**LLAMA, "gpu_memory_utilization": 0.7531}}
    first = client.post("/api/v1/memory", json=asked)
    assert client.post("/api/v1/memory", json=asked).content == first.content


def test_a_type_without_a_body_is_no_fault(client: TestClient) -> None:
    assert client.get("/api/v1/health", headers={"Content-Type": "application/json"}).status_code == 200
