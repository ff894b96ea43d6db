"""What is shown while a measurement goes."""

from __future__ import annotations

import io
import sys

import pytest

from bide.bench.loads import Load
from bide.bench.measure import Going
from bide.cli.bench_live import Live
from bide.report.bench_progress import share_done

LOAD = Load("open", rate=10.0, requests=200)


def going(finished: int, elapsed_s: float, failed: int = 0) -> Going:
    return Going(finished, 5, failed, 1000, [0.1, 0.2, 0.3], elapsed_s)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_with_rate_percentiles_failures_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    live = Live()
    live(0, LOAD, going(50, 5.0, failed=2))
    live.clear()
    said = terminal.getvalue()
    # a quarter in 5 s: three quarters take 15 s
    for text in ("25%", "15 s left", "10.0/s", "p50 200 ms", "p95", "2 failed"):
        assert text in said


def test_a_log_gets_a_plain_line_every_half_minute(capsys: pytest.CaptureFixture[str]) -> None:
    live = Live()
    for second in range(0, 100, 10):
        live(0, LOAD, going(second, float(second)))
    live(1, LOAD, going(10, 10.0))
    live.clear()
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" s,")[0].rpartition(" ")[2] for line in lines] == ["30", "60", "90"]
    assert "\r" not in "".join(lines)


@pytest.mark.parametrize(
    ("load", "share"),
    [
        (LOAD, 0.25),
        (Load("closed", concurrency=4, duration_s=20.0), 0.5),
        (Load("closed", concurrency=4, duration_s=20.0, requests=60), 50 / 60),  # whichever ends it first
        (Load("replay"), None),
    ],
)
def test_the_share_that_is_done(load: Load, share: float | None) -> None:
    assert share_done(load, going(50, 10.0)) == share
