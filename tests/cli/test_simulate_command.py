"""`bide simulate` as its users call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from bide.cli.main import main

H100 = ("simulate", "llama-3.1-8b", "--gpu", "h100-sxm")


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """200 requests of 400 + 20 tokens, four a second."""
    path = tmp_path / "trace.csv"
    rows = [f"{number / 4},400,20" for number in range(200)]
    path.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    return str(path)


def test_json_has_the_figures_and_nothing_else_is_printed(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*H100, "--workload", trace, "--slo", "ttft=1s,tpot=50ms", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "bide.simulate/1"
    assert answer["stationary"] is True
    assert answer["status"] == {"ok": answer["window"]["requests"]}
    assert list(answer["latency"]) == ["ttft", "tpot", "itl", "e2e", "queue"]
    p95 = answer["latency"]["e2e"]["p95_s"]
    assert p95["step_low"] < p95["low"] <= p95["value"] <= p95["high"] < p95["step_high"]
    assert answer["goodput"]["share"] == 1.0
    assert len(answer["timeline"]["time_s"]) == len(answer["timeline"]["kv_share"])
    assert any(assumption["name"] == "step times" for assumption in answer["assumptions"])


def test_text_names_the_warm_up_and_the_goodput(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*H100, "--workload", trace, "--slo", "e2e=10s", "--replicas", "2", "--router", "least-requests"]) == 0
    text = capsys.readouterr().out
    assert "warm-up before" in text
    assert "100.0% of requests" in text
    assert "2 x meta-llama/Llama-3.1-8B" in text


def test_a_load_that_cannot_be_held_is_not_stationary(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [*H100, "--workload", trace, "--rate", "400", "--requests", "2000", "--max-num-seqs", "8"]
    assert main([*asked, "--no-step-error"]) == 0
    assert "Not stationary: the queue grows" in capsys.readouterr().out


def test_prompts_and_answers_on_replicas_of_their_own(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--prefill-replicas", "1", "--decode-replicas", "2", "--link-bandwidth", "25GB/s", "--no-step-error"]
    assert main([*H100, "--workload", trace, *flags]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "(1 prefill + 2 decode) x meta-llama/Llama-3.1-8B, each on 1 h100-sxm" in text
    assert "cache transfer = 25 GB/s for each GPU (as given)" in text


def test_users_send_instead_of_the_trace(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--concurrency", "8", "--think-time", "500ms", "--no-step-error"]
    assert main([*H100, "--workload", trace, *flags]) == 0
    text = capsys.readouterr().out
    assert "8 users, " in text
    assert "arrivals =" not in text


def test_without_the_step_model_error_nothing_is_said_of_it(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    for flags, said in (([], True), (["--no-step-error"], False)):
        assert main([*H100, "--workload", trace, "--requests", "60", *flags]) == 0
        assert ("step times off" in capsys.readouterr().out.lower()) == said


def test_requests_and_reports_are_written_by_suffix(trace: str, tmp_path: Path) -> None:
    files = {suffix: tmp_path / f"out{suffix}" for suffix in (".csv", ".jsonl", ".parquet", ".html", ".md", ".json")}
    flags = [flag for path in files.values() for flag in ("-o", str(path))]
    assert main([*H100, "--workload", trace, "--no-step-error", *flags]) == 0
    frames = [pl.read_csv(files[".csv"]), pl.read_ndjson(files[".jsonl"]), pl.read_parquet(files[".parquet"])]
    assert [len(frame) for frame in frames] == [200] * 3
    assert frames[2]["output_tokens"].to_list() == [20] * 200
    assert "<svg" in files[".html"].read_text()
    assert files[".md"].read_text().startswith("**1 x")
    assert json.loads(files[".json"].read_text())["schema"] == "bide.simulate/1"


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        (["--slo", "speed=1s"], "slo"),
        (["--slo", "ttft"], "slo"),
        (["--router", "fastest"], "router"),
        (["--fail", "0"], "fail"),
        (["--fail", "7@10s"], "fail"),
        (["--fail", "\u00b2@10s"], "fail"),
        (["--slo", ""], "slo"),
        (["--slo", "ttft=1s,ttft=2s"], "slo"),
        (["--rate", "nan"], "rate"),
        (["--scale", "inf"], "scale"),
        (["--warm-up", "30d"], "warm_up"),
        (["--mixed-chunk"], "mixed_chunk"),
        (["--max-tokens", "5"], "max_tokens"),
        (["--link-latency", "1ms"], "link_latency"),
        (["--rate", "2", "--scale", "2"], "scale"),
        (["--rate", "2", "--concurrency", "2"], "rate"),
        (["--prefill-replicas", "2"], "decode_replicas"),
        (["--think-time", "2s"], "think_time"),
        (["-o", "out.txt"], "output"),
    ],
)
def test_bad_input_is_named(trace: str, flags: list[str], field: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*H100, "--workload", trace, *flags]) == 2
    assert capsys.readouterr().err.startswith(f"error: {field}")


def test_a_pool_that_holds_no_request_cannot_be_met(trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*H100, "--workload", trace, "--pool-bytes-per-gpu", "1MB"]) == 1
    assert "none of the" in capsys.readouterr().err


def test_only_simulating_imports_the_compiler() -> None:
    code = "import sys; from bide.cli.main import main; main({args}); print('numba' in sys.modules)"
    for args in (["--help"], ["simulate", "--help"], ["curve", "llama-3.1-8b", "--gpu", "h100-sxm", "--json"]):
        command = [sys.executable, "-c", code.format(args=args)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "False", args
