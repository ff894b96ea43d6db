"""`bide serve` as its users start it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from bide.cli import serve
from bide.cli.main import main


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(("serve", *args)) == 2
    return capsys.readouterr().err


def test_other_machines_need_a_token(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BIDE_TOKEN", raising=False)
    assert "--token" in refused(capsys, "--host", "0.0.0.0")
    assert "16 characters" in refused(capsys, "--host", "0.0.0.0", "--token", "short")


def test_an_address_of_another_machine_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "--host", "192.0.2.1", "--token", "x" * 16)  # TEST-NET-1, RFC 5737: nobody's
    assert "192.0.2.1:8321" in said


def test_what_is_not_installed_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "nicegui" else object())
    assert "pip install 'bide[web]'" in refused(capsys)


def test_sizes_and_times_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr("bide.web.run.serve", lambda settings, _ready: given.append(settings))
    flags = ("--upload-limit", "1MiB", "--job-memory", "2GiB", "--job-time", "2min", "--jobs", "3", "--hub")
    assert main(("serve", "--port", "0", *flags, "--cors", "https://a.example", "--allow-host", "b.example")) == 0
    settings = given[0]
    assert (settings.limits.upload_bytes, settings.limits.job_memory_bytes) == (2**20, 2**31)
    assert (settings.limits.job_s, settings.limits.jobs_at_once) == (120.0, 3)
    assert (settings.hub, settings.cors, settings.hosts) == (True, ("https://a.example",), ("b.example",))


def test_it_answers_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "bide", "serve", "--port", "0", "--no-open"]
    environment = {name: value for name, value in os.environ.items() if name != "BIDE_TOKEN"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        address = next(word for line in process.stderr for word in line.split() if word.startswith("http://"))
        with urllib.request.urlopen(f"{address}api/v1/health", timeout=20) as answer:
            assert b"bide.health/1" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) in (0, 130)
