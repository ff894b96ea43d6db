"""No path of the server can be read, or even asked after, through any field."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from bide.errors import BadInput
from bide.web import tasks
from bide.web.names import FILE
from web_client import LLAMA, Serve, fault, upload

PATHS = (
    "/etc/passwd",
    "../../etc/passwd",
    "./config.json",
    "config.json",
    "calibration",
    "~/.ssh/id_rsa",
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data",
    "https://example.com/config.json",
    "C:\\Windows\\win.ini",
    "..",
    ".",
    "a/../../b",
    "/proc/self/environ",
    "/dev/stdin",
    "llama-3.1-8b\x00.json",
    "*",
    "$HOME",
)


@pytest.fixture
def tempting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with files that the command line would read under these names."""
    config = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "vocab_size": 9,
    }
    for place in (tmp_path, tmp_path / "calibration", tmp_path / "org" / "model"):
        place.mkdir(parents=True, exist_ok=True)
        (place / "config.json").write_text(json.dumps({**config, "intermediate_size": 64}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", PATHS)
def test_models_are_not_read_from_paths(client: TestClient, tempting: Path, path: str) -> None:
    asked = {"deployment": {**LLAMA, "model": path}}
    found = fault(client.post("/api/v1/memory", json=asked))
    assert found["field"] == "model"
    fault(client.post("/api/v1/curve", json={**asked, "prompt_tokens": 10, "output_tokens": 10}))


def test_a_folder_that_is_called_like_a_model_is_not_it(client: TestClient, tempting: Path) -> None:
    (tempting / "llama-3.1-8b").mkdir()
    (tempting / "llama-3.1-8b" / "config.json").write_text("{}")
    answer = client.post("/api/v1/memory", json={"deployment": LLAMA})
    assert answer.json()["kv"]["bytes_per_token"] == 131072


def test_ids_of_the_hub_are_looked_up_only_where_that_is_allowed(
    serve: Serve, client: TestClient, tempting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"deployment": {**LLAMA, "model": "org/model"}}
    assert "--hub" in fault(client.post("/api/v1/memory", json=asked))["hint"]
    looked_up: list[str] = []

    def hub(name: str) -> None:
        looked_up.append(name)
        raise BadInput("model", name, "a model of the hub")

    monkeypatch.setattr("bide.web.names.hub_model", hub)
    fault(serve(hub=True).post("/api/v1/memory", json=asked))
    assert looked_up == ["org/model"]
    fault(serve(hub=True).post("/api/v1/memory", json={"deployment": {**LLAMA, "model": "org/../../model"}}))
    assert len(looked_up) == 1


def test_ids_of_the_hub_are_no_folders_here(serve: Serve, tempting: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # nothing is asked
    found = fault(serve(hub=True).post("/api/v1/memory", json={"deployment": {**LLAMA, "model": "org/model"}}))
    assert "pip install 'bide[hub]'" in found["hint"]


@pytest.mark.parametrize("profile", [{"upload": "../../etc/passwd"}, {"$file": "/etc/passwd"}, "/etc/passwd"])
def test_profiles_are_not_read_from_paths(client: TestClient, profile: object) -> None:
    fault(client.post("/api/v1/memory", json={"deployment": LLAMA, "profile": profile}))


def test_an_upload_that_nobody_sent_is_not_there(client: TestClient) -> None:
    asked = {"deployment": {**LLAMA, "model": {"upload": "x" * 22}}}
    fault(client.post("/api/v1/memory", json=asked), 404)
    fault(client.get("/api/v1/jobs/" + "x" * 22), 404)
    fault(client.get("/api/v1/jobs/../../etc/passwd/files/x"), 404)


def test_the_mark_of_our_own_files_cannot_be_given(client: TestClient) -> None:
    asked: dict[str, Any] = {"deployment": LLAMA, "workload": {FILE: "/etc/passwd"}}
    fault(client.post("/api/v1/simulate", json=asked))
    asked["workload"] = {"trace": {FILE: "/etc/passwd"}}
    fault(client.post("/api/v1/simulate", json=asked))
    service = {"name": "a", "model": "llama-3.1-8b", "workload": {"file": {FILE: "/etc/passwd"}}, "traffic": {}}
    fault(client.post("/api/v1/plan", json={"services": [service], "hardware": {}}))


def done(kind: str, ask: dict[str, Any]) -> dict[str, Any]:
    """A job's work, in this process."""
    Path("out").mkdir(exist_ok=True)
    return tasks.done(kind, ask, False, lambda *_said: None, Path("out"))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("key", ["trace", "file"])
def test_plans_read_no_paths(tempting: Path, path: str, key: str) -> None:
    service = {"name": "a", "model": "llama-3.1-8b", "workload": {key: path}, "traffic": {"peak_rps": 1}}
    with pytest.raises(BadInput) as caught:
        done("plan", {"services": [service], "hardware": {"gpus": ["h100-sxm"]}})
    assert caught.value.field == f"services[0].workload.{key}"


@pytest.mark.parametrize("path", PATHS)
def test_plans_read_no_models_from_paths(tempting: Path, path: str) -> None:
    service = {"name": "a", "model": path, "workload": {"lengths": {}}, "traffic": {"peak_rps": 1}}
    with pytest.raises(BadInput) as caught:
        done("plan", {"services": [service], "hardware": {"gpus": ["h100-sxm"]}})
    assert caught.value.field == "services[0].model"


@pytest.mark.parametrize("path", PATHS)
def test_simulations_read_no_paths(tempting: Path, path: str) -> None:
    with pytest.raises(BadInput) as caught:
        done("simulate", {"deployment": LLAMA, "workload": {"trace": path}})
    assert caught.value.field == "workload.trace"


@pytest.mark.parametrize(
    "content",
    [
        "trace: /etc/passwd\n",
        "services:\n- {name: a, workload: {trace: /etc/passwd}, traffic: {peak_rps: 1}}\n",
        "{lengths: pairs, trace: ../../secret.csv}\n",
    ],
)
def test_files_that_name_files_are_refused(tempting: Path, content: str) -> None:
    Path("sent.yaml").write_text(content)
    with pytest.raises(BadInput, match="names no further file"):
        done("simulate", {"deployment": LLAMA, "workload": {FILE: "sent.yaml"}})
    service = {"name": "a", "model": "llama-3.1-8b", "workload": {"file": {FILE: "sent.yaml"}}, "traffic": {}}
    with pytest.raises(BadInput, match="names no further file"):
        done("plan", {"services": [service], "hardware": {"gpus": ["h100-sxm"]}})


def test_what_a_log_calls_its_model_is_not_opened(tempting: Path) -> None:
    log = "INFO LLM engine (v0.11.0) with config: model='./calibration', tensor_parallel_size=1\n"
    Path("engine.log").write_text(log + "INFO GPU KV cache size: 100,000 tokens\n")
    with pytest.raises(BadInput) as caught:
        done("calibrate", {"log": {FILE: "engine.log"}, "deployment": {"gpu": "h100-sxm"}})
    assert (caught.value.field, caught.value.given) == ("model", None)


def test_names_of_uploads_stay_in_their_folder(client: TestClient) -> None:
    for name in (
        "../../../tmp/x.csv",
        "/etc/passwd",
        "..",
        "",
        "a\x00b",
        "a/b\\c",
        "x" * 500 + ".csv.gz",
        ".bashrc",
        "CON",
    ):
        sent = upload(client, b"content", name)
        kept = client.app.state.bide.uploads.get(sent["upload"])  # type: ignore[attr-defined]
        assert kept.path.parent.name == sent["upload"]
        assert kept.path.read_bytes() == b"content"
        assert len(kept.name) <= 80
        assert not kept.name.startswith(".")
