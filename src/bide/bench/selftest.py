"""What this machine can measure: our client against a server that knows when it wrote."""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from bide.bench.asking import Ask
from bide.bench.loads import Load
from bide.bench.result import Cell
from bide.bench.session import bench
from bide.bench.target import target_of
from bide.bench.truth_options import Behaviour
from bide.i18n import _

_STREAMS = (16, 64, 256, 1024)
_TTFT_S, _ITL_S, _TOKENS = 0.2, 0.02, 64
_FEWEST, _SECONDS = 64, 4.0
_RATE, _INSTANT_RATE = 120.0, 2000.0
TTFT_WITHIN, TPOT_WITHIN, ITL_P99_WITHIN = 0.02, 0.02, 0.10
SENT_WITHIN_S = 0.005


@dataclass(frozen=True, slots=True)
class Line:
    """One load: what the client said over what the server knew, less 1. `level`: streams, or requests a second."""

    name: str
    level: float
    ttft_error: float
    tpot_error: float
    itl_p99_error: float
    sent_p99_s: float
    cpu_ms_per_1000_tokens: float
    server_late_s: float
    """By which the server itself wrote after its plan, on average: a busy machine."""
    right: bool


@dataclass(frozen=True, slots=True)
class Selftest:
    lines: tuple[Line, ...]

    @property
    def most_streams(self) -> int:
        """That were measured right, with all smaller numbers."""
        found = 0
        for line in self.lines:
            if line.name == "closed" and not line.right:
                break
            found = int(line.level) if line.name == "closed" else found
        return found

    def to_dict(self) -> dict[str, Any]:
        lines = [{name: known(value) for name, value in asdict(line).items()} for line in self.lines]
        return {"most_streams": self.most_streams, "lines": lines}


def known(value: object) -> object:
    """None for a float that is none: JSON has no NaN."""
    return value if not isinstance(value, float) or math.isfinite(value) else None


def selftest(say: Callable[[str], None]) -> Selftest:
    """About half a minute: closed loops of several sizes, an open loop, and an instant server.

    Raises KeyboardInterrupt where it is cut short: half a table would say what this machine cannot do.
    """
    lines = []
    with truth_process(Behaviour(ttft_s=_TTFT_S, itl_s=_ITL_S)) as port:
        for streams in _STREAMS:
            say(_("{n} streams ...").format(n=streams))
            load = Load("closed", concurrency=streams, requests=max(_FEWEST, 2 * streams))
            lines.append(_line("closed", float(streams), port, load, _TOKENS))
        say(_("{rate:g} requests/s ...").format(rate=_RATE))
        lines.append(_line("open", _RATE, port, Load("open", rate=_RATE, duration_s=_SECONDS), _TOKENS))
    with truth_process(Behaviour(ttft_s=0.0, itl_s=0.0)) as port:
        say(_("{rate:g} requests/s ...").format(rate=_INSTANT_RATE))
        lines.append(_line("instant", _INSTANT_RATE, port, Load("open", rate=_INSTANT_RATE, duration_s=_SECONDS), 1))
    return Selftest(tuple(lines))


@contextlib.contextmanager
def truth_process(behaviour: Behaviour) -> Iterator[int]:
    """The truth server in a process of its own; gives its port. A terminal's Ctrl-C is for us, who end it."""
    flags = [text for name, value in asdict(behaviour).items() for text in _flag(name, value)]
    command = [sys.executable, "-m", "bide.bench.truth", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            yield int(json.loads(process.stdout.readline())["port"])
        finally:
            process.terminate()


def _flag(name: str, value: object) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}={value}"]


def truth_of(port: int, reset: bool = False) -> dict[str, Any]:
    """What the server logged since it was last reset."""
    url = f"http://127.0.0.1:{port}/__truth" + ("?reset=1" if reset else "")
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def _line(name: str, level: float, port: int, load: Load, tokens: int) -> Line:
    truth_of(port, reset=True)
    ask = Ask((load,), prompt="64", answer=str(tokens), model="truth", probe=False, scrape_s=0.0, processes=None)
    (cell,) = bench(target_of(f"http://127.0.0.1:{port}"), ask).cells
    if cell.interrupted:
        raise KeyboardInterrupt
    return judged(name, level, cell, truth_of(port))


def judged(name: str, level: float, cell: Cell, truth: dict[str, Any]) -> Line:
    """The client's figures over all requests beside the server's."""
    import numpy as np

    from bide import metrics

    table = cell.table
    _when, gaps_s = metrics.token_gaps(*metrics.chunk_gaps(table))
    sent_s = table.first_token_s - table.sent_s
    ttft = _off(float(np.nanmean(sent_s)), truth["ttft_s"].get("mean"))
    tpot = _off(metrics.summary(metrics.tpot_s(table), None), truth["tpot_s"].get("mean"))
    itl = _off(metrics.summary(gaps_s, 99), truth["itl_s"].get("p99"))
    health = cell.health
    cpu_ms = health.cpu_s * 1e3 / max(1e-9, float(table.output_tokens.sum()) / 1e3)
    if name == "instant":
        right = health.sent_p99_s <= SENT_WITHIN_S
    else:
        right = abs(ttft) <= TTFT_WITHIN and abs(tpot) <= TPOT_WITHIN and abs(itl) <= ITL_P99_WITHIN
    return Line(name, level, ttft, tpot, itl, health.sent_p99_s, cpu_ms, truth["late_mean_s"], right)


def _off(said: float, known: float | None) -> float:
    return said / known - 1 if known else float("nan")
