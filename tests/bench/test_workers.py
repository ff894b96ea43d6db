"""How many client processes there are, and how they end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from bench_scene import loaded, quick, served, users
from bide.__main__ import run
from bide.bench import measure, pump, session
from bide.bench.cell import Played
from bide.bench.measure import processes_for
from bide.bench.target import is_here
from bide.report.bench_facts import facts


@pytest.mark.parametrize(
    ("cores", "tokens_per_s", "beside", "found"),
    [
        # 51,200 tokens/s are more than the 40,000 of a process: two, but not both cores of a server that is here.
        (2, 51_200.0, False, (2, 0)),
        (2, 51_200.0, True, (1, 1)),
        (4, 51_200.0, True, (2, 0)),
        (4, 400_000.0, True, (3, 1)),
        (2, 1_000.0, True, (1, 0)),
        (1, 400_000.0, True, (1, 0)),
    ],
)
def test_a_server_on_this_machine_keeps_a_core(
    monkeypatch: pytest.MonkeyPatch, cores: int, tokens_per_s: float, beside: bool, found: tuple[int, int]
) -> None:
    monkeypatch.setattr(measure, "cores", lambda: cores)
    assert processes_for(tokens_per_s, 1.0, beside) == found


def test_own_addresses_are_known() -> None:
    assert is_here("127.0.0.1")
    assert not is_here("192.0.2.1")  # of no machine (RFC 5737)


def test_a_core_that_was_left_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "cores", lambda: 2)
    with served() as scene:
        few = loaded(scene.url, users(2, 4), processes=None).cells[0]
        many = loaded(scene.url, users(2500, 4), processes=None).cells[0]  # expected: 125,000 tokens/s
    assert (few.health.processes, few.health.spared_cores) == (1, 0)
    assert (many.health.processes, many.health.spared_cores) == (1, 1)
    assert dict(facts(many))["client"].endswith("1 core is left to the server, which is on this machine")


@pytest.mark.parametrize(("bound", "pieces"), [(10, 10), (1000, 1)])
def test_beyond_a_bound_what_waits_gets_a_share_of_long_turns(
    monkeypatch: pytest.MonkeyPatch, bound: int, pieces: int
) -> None:
    # Pieces of 0.5 ms, a turn of 20 ms: a quarter is 5 ms, ten of them; in 0.2 ms there is time for one.
    now_ns: list[int] = [1]
    done: list[int] = []
    monkeypatch.setattr(pump, "now_ns", lambda: now_ns[0])
    monkeypatch.setattr(pump, "_MANY", bound)

    def work() -> None:
        now_ns[0] += 500_000
        done.append(now_ns[0])

    async def second_turn() -> int:
        made = pump.Pump()
        for _number in range(60):
            made.add(work)
        made._turn()
        first = len(done)
        now_ns[0] += 20_000_000
        made._turn()
        return len(done) - first

    assert asyncio.run(second_turn()) == pieces


def test_pieces_are_understood_together_once_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump, "_REST_S", 60.0)
    monkeypatch.setattr(pump, "_LEAST_S", 0.0)
    done: list[int] = []

    async def done_of(pieces: int) -> int:
        done.clear()
        made = pump.Pump()
        for number in range(pieces):
            made.add(partial(done.append, number))
        for _turn in range(pieces):
            await asyncio.sleep(0)
        return len(done)

    assert [asyncio.run(done_of(pieces)) for pieces in (31, 32)] == [0, 32]


def test_an_interrupt_while_commands_are_loaded_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with mock.patch("bide.cli.main.main", side_effect=KeyboardInterrupt):
        assert run() == 130
    assert capsys.readouterr().err == "error: interrupted\n"


def test_an_interrupt_of_the_warm_up_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "warmed_up", lambda _plan, _requests: Played(interrupted=True))
    with served() as scene:
        made = loaded(scene.url, users(1, 4), warm_up_requests=2)
        assert (made.cells[0].interrupted, made.cells[0].outcomes, scene.truth.count) == (True, [], 0)


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to a group of processes")
@pytest.mark.parametrize("lines", [1, 4])
def test_a_terminals_interrupt_is_heard_once(tmp_path: Path, lines: int) -> None:
    """While workers start (the journal has its first line), and while they play: no traceback of any process."""
    journal = tmp_path / "run.jsonl"
    flags = ["--concurrency", "2", "--duration", "30s", "--prompt", "40", "--answer", "8", "--journal", str(journal)]
    more = ["--model", "truth", "--no-probe", "--no-metrics", "--processes", "2"]
    with served(quick(ttft_s=0.05)) as scene:
        command = [sys.executable, "-m", "bide", "bench", scene.url, *flags, *more]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") >= lines):
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        said, error = process.communicate(timeout=30)
    assert process.returncode in (130, -signal.SIGINT)  # a shell calls both 130
    assert "Traceback" not in error
    assert ("Cut short" in said) if lines > 1 else ("Cut short" in said or error.strip() == "error: interrupted")
