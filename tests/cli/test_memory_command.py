"""`bide memory` as its users call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bide.cli.main import main

H100 = ("memory", "llama-3.1-8b", "--gpu", "h100-sxm")


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(args)
    out, err = capsys.readouterr()
    return code, out, err


def test_text_answers_in_the_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, *H100)
    assert code == 0
    assert "requests of 8,192 tokens at once" in out.splitlines()[0]
    assert "fp8 cache" in out


def test_json_has_the_keys_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, *H100, "--json", "--context", "2k,8k")
    answer = json.loads(out)
    assert code == 0
    assert answer["schema"] == "bide.memory/1"
    assert set(answer["kv"]) == {"bytes_per_token", "bytes_per_token_per_gpu", "fixed_bytes_per_request", "windows"}
    assert set(answer["weights"]) == {"bytes", "bytes_per_gpu"}
    assert set(answer["pool"]) == {"bytes_per_gpu", "tokens", "low_tokens", "high_tokens", "ledger"}
    assert [fit["context_tokens"] for fit in answer["concurrency"]] == [2048, 8192]


def test_what_does_not_fit_exits_1_with_what_would(capsys: pytest.CaptureFixture[str]) -> None:
    code, _out, err = run(capsys, "memory", "llama-3.1-70b", "--gpu", "h100-sxm")
    assert code == 1
    assert "131 GiB of weights" in err
    assert "--tp 2" in err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("memory",), "model"),
        (("memory", "llama-3.1-8b"), "gpu"),
        (("memory", "llama-3.1-8b", "--gpu", "h1000"), "Did you mean"),
        (("memory", "lama-3.1-8b", "--gpu", "h100-sxm"), "Llama-3.1-8B"),
        ((*H100, "--tp", "3"), "tp"),
        ((*H100, "--context", "many"), "context"),
        ((*H100, "--kv-dtype", "fp9"), "kv_dtype"),
        ((*H100, "--gpu-memory-utilization", "92"), "gpu_memory_utilization"),
        ((*H100, "--service", "chat"), "name:tokens:users"),
        ((*H100, "--services", "missing.yaml"), "services"),
        ((*H100, "--gpus", "97"), "gpus"),
        ((*H100, "-o", "memory.pdf"), "output"),
        (("memory", "--batch", "missing.jsonl"), "batch"),
        (("memory", "--batch", "-", "--gpu", "l4"), "gpu: got 'l4'; allowed: nothing beside --batch"),
        (("memory", "--batch", "-", "--context", "8k"), "context"),
        ((*H100, "--gpus", "0"), "from 1 to 4,096"),
        ((*H100, "--gpus", "9" * 400), "from 1 to 4,096"),
        (("memory", "llama-3.1-8b", "--batch", "-"), "model"),
        (("memory", "nowhere/config.json", "--gpu", "h100-sxm"), "model"),
    ],
)
def test_bad_input_exits_2_and_names_the_field(
    capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    code, _out, err = run(capsys, *args)
    assert code == 2
    assert said in err
    assert "Traceback" not in err


def test_a_report_of_an_unknown_kind_is_refused_before_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, *H100, "-o", "memory.pdf")
    assert (code, out) == (2, "")


def test_an_empty_pool_is_not_blamed_on_the_weights(capsys: pytest.CaptureFixture[str]) -> None:
    code, _out, err = run(capsys, *H100, "--pool-bytes-per-gpu", "0")
    assert code == 1
    assert "the pool that was given is empty" in err


def test_gpus_are_split_where_kv_heads_divide_too(capsys: pytest.CaptureFixture[str]) -> None:
    # phi-4: 40 attention heads, 10 KV heads: 8 divides the first, neither divides nor copies the second
    code, out, _err = run(capsys, "memory", "phi-4", "--gpu", "h100-sxm", "--gpus", "8", "--json")
    assert code == 0
    assert json.loads(out)["fits"]


def test_gpus_are_split_by_tensor_parallelism(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, "memory", "llama-3.1-70b", "--gpu", "h100-sxm", "--gpus", "4")
    assert code == 0
    assert "4 x h100-sxm (TP4)" in out


def test_services_are_answered(capsys: pytest.CaptureFixture[str]) -> None:
    services = ("--service", "chat:1500:100", "--service", "documents:13000:100")
    code, out, _err = run(capsys, *H100, "--pool-bytes-per-gpu", "53GB", *services)
    assert code == 0
    assert out.startswith("4 x h100-sxm hold 100 users of chat and 100 users of documents at once")


@pytest.mark.parametrize(
    ("suffix", "magic"),
    [
        (".png", b"\x89PNG"),
        (".svg", b"<svg"),
        (".html", b"<!doctype"),
        (".md", b"**54 requests"),
        (".csv", b"context_tokens,"),
    ],
)
def test_reports_are_written(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str, magic: bytes) -> None:
    file = tmp_path / f"memory{suffix}"
    code, _out, err = run(capsys, *H100, "-o", str(file))
    assert code == 0
    assert file.read_bytes().startswith(magic)
    assert str(file) in err


def batch(capsys: pytest.CaptureFixture[str], tmp_path: Path, *lines: str) -> list[dict[str, Any]]:
    file = tmp_path / "batch.jsonl"
    file.write_text("\n".join(lines) + "\n")
    assert main(["memory", "--batch", str(file)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_batch_answers_every_line_in_order(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    good = {"id": "a", "deployment": {"model": "llama-3.1-8b", "gpu": "h100-sxm"}, "context_tokens": [8192]}
    given = {**good, "id": "b", "deployment": {"model": "llama-3.1-8b"}, "pool_bytes_per_gpu": 53 * 10**9}
    first, second = batch(capsys, tmp_path, json.dumps(good), "", json.dumps(given))
    assert first["id"] == "a"
    assert second["pool"]["ledger"] is None
    assert int(second["concurrency"][0]["requests"]) == 49


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("not json", "line"),
        ("[1]", "line"),
        ("{}", "deployment"),
        ('{"deployment": {"model": "llama-3.1-8b", "gpux": 1}}', "deployment.gpux"),
        ('{"deployment": {"model": "llama-3.1-8b", "gpu": "h100-sxm", "tp": 3}}', "tp"),
        ('{"deployment": {"model": "llama-3.1-8b", "gpu": "h100-sxm"}, "context_tokens": [0]}', "context_tokens"),
        ('{"deployment": {"model": "llama-3.1-8b", "gpu": "h100-sxm"}, "context_tokens": 8}', "context_tokens"),
        ('{"deployment": {"model": "llama-3.1-8b", "gpu": "h100-sxm"}, "pool_bytes_per_gpu": "x"}', "pool_bytes"),
        ('{"deployment": {"model": 3}}', "model"),
        ('{"deploymnt": {}}', "deploymnt"),
        ("[" * 100000, "line"),
        ('{"id": NaN}', "id"),
        ('{"id": 1e400}', "id"),
        ('{"id": [Infinity]}', "id"),
        ('"' + "x" * 2**20 + '"', "longer than 1,048,576"),
    ],
)
def test_a_bad_line_is_an_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str, field: str) -> None:
    (answer,) = batch(capsys, tmp_path, line)
    assert field in answer["error"]["field"] or field in answer["error"]["message"]


def test_explain_counts_at_the_mean_too(capsys: pytest.CaptureFixture[str]) -> None:
    """A request of 3,000 tokens takes 188 blocks of 16; the sentence above is about those."""
    _code, out, _err = run(capsys, *H100, "--explain", "--mean-tokens", "3000")
    assert "149 requests of 3,000 tokens on average" in out
    assert "requests of 3,000: 28,136 blocks / 188 = 149.66" in out
