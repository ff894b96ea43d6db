"""`bide workload observe`: what it prints, what it writes, and that plan reads it."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from bide.cli.main import main
from recorded_engine import MODEL
from recorded_scene import key, recorded_answers

UNTIL = "2026-11-18T17:20"
"""The end of the recorded scene, 1795022400 s after 1970."""


@pytest.fixture(scope="module")
def prometheus() -> Iterator[str]:
    """A server that gives the recorded answers, and wants a token."""
    answers = recorded_answers()

    class Replay(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            known = self.headers.get("Authorization") == "Bearer right"
            body = json.dumps(answers.get(key(parts.path, parts.query), {})).encode()
            self.send_response(200 if known else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_said: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Replay)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIDE_PROMETHEUS_TOKEN", "right")


def observe(prometheus: str, *args: str) -> int:
    return main(["workload", "observe", "--prometheus", prometheus, "--window", "6h", "--until", UNTIL, *args])


def test_the_tables_are_printed(prometheus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert observe(prometheus) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"{MODEL} on vllm answered" in out
    for said in (
        "prompt",
        "output",
        "TTFT",
        "TPOT",
        "E2E",
        "KV in use",
        "ended by",
        "steps of 240 s",
        "Assumed: prompt",
    ):
        assert said in out
    assert "right" not in out


def test_json_is_one_object(prometheus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert observe(prometheus, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["engine"], told["model"]) == ("bide.workload.observe/1", "vllm", MODEL)
    assert told["lengths"]["prompt_tokens"]["p50"]["low"] == 501
    assert told["window"]["scrape_interval_seconds"] == 60.0


def test_the_service_file_is_read_by_plan(
    prometheus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "service.yaml"
    assert observe(prometheus, "-o", str(path), "--gpu", "h100", "--json") == 0
    seen = json.loads(capsys.readouterr().out)
    service = yaml.safe_load(path.read_text(encoding="utf-8"))["services"][0]
    assert service["traffic"]["peak_rps"] == pytest.approx(seen["traffic"]["peak_rps"], rel=1e-3)
    monkeypatch.chdir(tmp_path)
    assert main(["plan", str(path), "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    text = json.dumps(plan)
    assert MODEL in text
    from bide.plan.service_file import read_question

    work = read_question(path).services[0].workload
    assert work.prompt_tokens.mean() == pytest.approx(seen["lengths"]["prompt_tokens"]["mean"]["mid"], rel=0.01)
    assert work.output_tokens.mean() == pytest.approx(seen["lengths"]["output_tokens"]["mean"]["mid"], rel=0.01)


def test_without_a_gpu_the_service_file_says_what_is_missing(
    prometheus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "service.yml"
    assert observe(prometheus, "-o", str(path)) == 0
    assert "before bide plan" in capsys.readouterr().err
    assert main(["plan", str(path), "--no-report"]) == 2
    assert "hardware" in capsys.readouterr().err


def test_a_picture_is_written(prometheus: str, tmp_path: Path) -> None:
    for name, start in (("seen.png", b"\x89PNG"), ("seen.svg", b"<svg")):
        assert observe(prometheus, "-o", str(tmp_path / name)) == 0
        assert (tmp_path / name).read_bytes().startswith(start)
    assert "var(--" not in (tmp_path / "seen.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", [".md", ".html", ".csv", ".json"])
def test_each_suffix_is_written(prometheus: str, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"seen{suffix}"
    assert observe(prometheus, "-o", str(path)) == 0
    text = path.read_text(encoding="utf-8")
    assert ("request" in text) or suffix == ".csv"
    if suffix == ".csv":
        rows = list(csv.DictReader(text.splitlines()))
        assert {row["histogram"] for row in rows} >= {"prompt_tokens", "ttft"}
        assert rows[0]["up_to"] == "1"
    if suffix == ".html":
        assert text.count("<svg") == 4  # two charts, wide and narrow
        assert "http" not in text.replace("http://127.0.0.1", "").replace("http://www.w3.org", "")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--model", "qwen"), "model: got 'qwen'"),
        (("--label", "prod"), "label: got 'prod'"),
        (("--header", "secret"), "header: got '***'"),
        (("--token-env", "NOBODY_SET_THIS"), "token-env: got 'NOBODY_SET_THIS'"),
        (("--until", "noon"), "until: got 'noon'"),
        (("--window", "0s"), "window: got '0s'"),
        (("--step", "1s"), "step: got 1.0"),
        (("--gpu", "h1000"), "gpu: got 'h1000'"),
        (("-o", "seen.xlsx"), "output: got 'seen.xlsx'"),
    ],
)
def test_bad_input_is_one_error(
    prometheus: str, args: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert observe(prometheus, *args) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_wrong_token_is_one_error_that_does_not_show_it(
    prometheus: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BIDE_PROMETHEUS_TOKEN", "wr0ng-s3cret")
    assert observe(prometheus) == 2
    err = capsys.readouterr().err
    assert "HTTP 401; what was sent was refused" in err
    assert "wr0ng-s3cret" not in err


def test_nobody_there_is_one_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert observe("http://127.0.0.1:1") == 2
    assert "an address that answers" in capsys.readouterr().err


def test_the_address_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workload", "observe"]) == 2
    assert "--prometheus" in capsys.readouterr().err
