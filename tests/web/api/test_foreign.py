"""Models and profiles that users send: read within bounds, in the language of whoever asks, and not kept for ever."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from bide.physics import same
from bide.web import foreign
from bide.web.answered import Answered
from bide.web.foreign import foreign_model
from web_client import LLAMA, fault, upload

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 100,
}


def test_models_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten: list[int] = []
    monkeypatch.setattr(same, "forget", lambda: forgotten.append(1))
    monkeypatch.setattr(foreign, "_MOST_MADE", 1000)
    monkeypatch.setattr(foreign, "_made_characters", 0)
    padded = {**CONFIG, "padding": "x" * 700}
    first = foreign_model({**padded, "n": 1}, "a")
    assert foreign_model({**padded, "n": 1}, "a") is first  # a small one is kept, and made once
    assert not forgotten
    foreign_model({**padded, "n": 2}, "a")
    assert forgotten == [1]


def test_what_is_said_of_a_model_is_in_the_language_of_whoever_asks(client: TestClient) -> None:
    asked = {"deployment": {**LLAMA, "model": {"config": CONFIG, "name": "mine"}}}
    answers = {code: client.post(f"/api/v1/memory?lang={code}", json=asked).json() for code in ("vi", "ru", "en")}
    for part in ("sources", "assumptions"):
        assert len({json.dumps(answer[part]) for answer in answers.values()}) == 3
    assert answers["en"]["sources"]["model"] == "config.json of mine"


@pytest.mark.parametrize(
    "content", [b"{}", b"[1]", b"nonsense", b"[" * 5000, b'{"a": NaN}', b'{"a": ' + b"9" * 40 + b"}"]
)
def test_a_profile_that_is_none_is_called_by_its_own_name(client: TestClient, content: bytes) -> None:
    sent = upload(client, content, "mine.json")
    curve = {"deployment": LLAMA, "prompt_tokens": 10, "output_tokens": 10, "profile": sent}
    for path, asked in (("memory", {"deployment": LLAMA, "profile": sent}), ("curve", curve)):
        found = fault(client.post(f"/api/v1/{path}", json=asked))
        assert found["field"] == "profile"
        assert "bide-" not in json.dumps(found)


def test_expressions_that_take_minutes_are_refused_at_once(client: TestClient) -> None:
    block = {"quant_method": "compressed-tensors", "ignore": ["re:" + ".*" * 30 + "Z"]}
    model = {"config": {**CONFIG, "quantization_config": block}}
    found = fault(client.post("/api/v1/memory", json={"deployment": {**LLAMA, "model": model}}))
    assert "quick to match" in found["allowed"]


def test_long_answers_are_not_kept(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    answered: Answered = client.app.state.bide.answered  # type: ignore[attr-defined]
    before = len(answered._kept)
    monkeypatch.setattr("bide.web.answered._LONGEST_KEPT_BYTES", 100)
    asked = {"deployment": {**LLAMA, "gpu_memory_utilization": 0.7777}}
    assert client.post("/api/v1/memory", json=asked).status_code == 200
    assert len(answered._kept) == before


def test_too_much_at_once_is_refused(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bide.web.answered._MOST_GOING", 0)
    answer = client.post("/api/v1/memory", json={"deployment": {**LLAMA, "gpu_memory_utilization": 0.7776}})
    assert "at once" in fault(answer, 429)["message"]
    assert answer.headers["retry-after"]
