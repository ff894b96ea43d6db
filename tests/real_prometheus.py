"""A real Prometheus for a test: the Debian package `prometheus`, on a free port of this machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

_READY_S = 60.0


def needed() -> None:
    """Skip the test where Prometheus is not installed; on CI, which installs it, fail."""
    if shutil.which("prometheus") and shutil.which("promtool"):
        return
    if os.environ.get("CI"):
        pytest.fail("CI has no prometheus: tools/test_needs.sh installs it")
    pytest.skip("needs the Debian package prometheus")


@contextmanager
def running(folder: Path, targets: Sequence[str] = (), scrape: str = "1s") -> Iterator[str]:
    """A Prometheus with its data in `folder/data` that scrapes `targets`; gives its address."""
    jobs = f"scrape_configs: [{{job_name: vllm, static_configs: [{{targets: {list(targets)}}}]}}]" if targets else ""
    config = folder / "prometheus.yml"
    config.write_text(f"global: {{scrape_interval: {scrape}, scrape_timeout: {scrape}}}\n{jobs}\n", encoding="utf-8")
    port = _free_port()
    command = [
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=error",
    ]
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait_until_ready(process, f"http://127.0.0.1:{port}", folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def backfilled(folder: Path, lines: Iterable[str]) -> None:
    """Write OpenMetrics lines as blocks into `folder/data`."""
    recorded = folder / "recorded.om"
    with recorded.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(recorded), str(folder / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def wait_for(address: str, promql: str) -> None:
    """Until a query has a result: targets are scraped a few seconds after the start."""
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        query = urllib.parse.urlencode({"query": promql})
        with urllib.request.urlopen(f"{address}/api/v1/query?{query}", timeout=5) as answer:
            if json.load(answer)["data"]["result"]:
                return
        time.sleep(0.1)
    raise AssertionError(f"{promql} has no result")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _wait_until_ready(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + _READY_S
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(encoding="utf-8")[-2000:]
        try:
            with urllib.request.urlopen(f"{address}/-/ready", timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("Prometheus did not get ready: " + log.read_text(encoding="utf-8")[-2000:])
