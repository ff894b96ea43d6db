r"""What `bide bench` costs and how right it is, against a server that logs its own write times.

    python benchmarks/client_cost.py [--server fakesrv.c] [--only closed-64,open] [--processes 2]
    python benchmarks/client_cost.py --server fakesrv.c --only closed-256 --bare \
        --beside vllm=VENV --beside aiperf=VENV --tokenizer DIR

Without --server our own truth server is used (python -m bide.bench.truth), which needs a core itself. A C server is
compiled with cc; it must take --port, --ttft and --itl (milliseconds) and answer /__truth with its figures in JSON.
Every line says what was aimed at. CPU is that of the load, and in brackets that of the whole command with start and
report. Run it on a machine that is idle otherwise: the last column shows by how much the server itself was late.
--bare puts clients beside it that understand nothing: the least that a loop and a `recv` a token cost here and now, in
Python (benchmarks/bare_client.py) and in C (bare_client.c: what the kernel alone takes). --beside runs other tools on
the same load (benchmarks/other_clients.py).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from other_clients import BY_NAME, Asked

TTFT_MS, ITL_MS, TOKENS = 200.0, 20.0, 128
KEYS = ("ttft", "tpot", "itl_p99")
STREAMS = (64, 256, 512, 1024)
PROMPT = 64
BESIDE_ANSWERS = 25
"""For each stream, from other tools."""
TTFT_AIM = {64: 0.02, 256: 0.02, 512: 0.02, 1024: 0.04}


@contextlib.contextmanager
def server(source: Path | None, ttft_ms: float, itl_ms: float) -> Iterator[str]:
    """The URL of a server in a process of its own."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        if source is None:
            command = [sys.executable, "-m", "bide.bench.truth", f"--port={port}"]
            command += [f"--ttft-s={ttft_ms / 1e3}", f"--itl-s={itl_ms / 1e3}"]
        else:
            command = [compiled(source, folder), "--port", str(port), "--ttft", str(ttft_ms), "--itl", str(itl_ms)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                _wait(port)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def compiled(source: Path, folder: str) -> str:
    """The program that is made of a C file, in `folder`."""
    program = f"{folder}/{source.stem}"
    subprocess.run(["cc", "-O2", "-o", program, str(source), "-lm"], check=True, capture_output=True)
    return program


def _wait(port: int) -> None:
    for _try in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise SystemExit("the server did not start")


def truth(url: str) -> dict[str, float]:
    """Seconds by name, whichever server it is."""
    with urllib.request.urlopen(url + "/__truth?reset=1", timeout=30) as answer:
        said: dict[str, Any] = json.load(answer)
    unit, late = (1.0, said["late_mean_s"]) if "ttft_s" in said else (1e-3, said["late_ms_mean"] / 1e3)
    name = "s" if unit == 1.0 else "ms"
    return {
        "ttft": (said[f"ttft_{name}"] or {}).get("mean", 0.0) * unit,
        "tpot": (said[f"tpot_{name}"] or {}).get("mean", 0.0) * unit,
        "itl_p99": (said[f"itl_{name}"] or {}).get("p99", 0.0) * unit,
        "late": late,
    }


@dataclass(frozen=True, slots=True)
class Run:
    """One run as a user starts it: its JSON and what the whole command took, its worker processes included."""

    made: dict[str, Any]
    wall_s: float
    cpu_s: float
    memory_mb: float

    @property
    def cell(self) -> dict[str, Any]:
        found: dict[str, Any] = self.made["cells"][0]
        return found


def run(url: str, *flags: str) -> Run:
    command = [sys.executable, "-m", "bide", "bench", url, "--model", "any", "--no-probe", "--no-metrics", "--json"]
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as journal:
        os.unlink(journal.name)
        begun = time.perf_counter()
        process = subprocess.Popen([*command, "--journal", journal.name, *flags], stdout=subprocess.PIPE)
        assert process.stdout is not None
        said = process.stdout.read()
        _pid, _status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - begun
        process.returncode = 0
        Path(journal.name).touch()
    return Run(json.loads(said), wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3)


def off(said: float | None, known: float) -> float:
    return said / known - 1 if said is not None and known else float("nan")


def show(name: str, found: Run, known: dict[str, float], extra: str) -> None:
    """A line: errors against the truth, CPU."""
    latency, client = found.cell["latency"], found.cell["client"]
    thousands = max(1e-9, found.cell["tokens"]["output"] / 1e3)
    said = [latency["ttft"]["mean_s"], latency.get("tpot", {}).get("mean_s"), latency.get("itl", {}).get("p99_s")]
    itl_p99 = said[2]["value"] if said[2] else None
    errors = [off(value, known[key]) for value, key in zip((*said[:2], itl_p99), KEYS, strict=True)]
    print(
        f"{name:12} TTFT {errors[0]:+7.2%}  TPOT {errors[1]:+7.3%}  ITL p99 {errors[2]:+7.1%}"
        f"  CPU {client['cpu_s'] * 1e3 / thousands:6.2f} ({found.cpu_s * 1e3 / thousands:6.2f}) ms/1k tokens"
        f"  lag p99 {client['lag_p99_s'] * 1e3:6.2f} ms  {extra}  (server late {known['late'] * 1e3:.2f} ms)",
        flush=True,
    )


def closed(source: Path | None, streams: int, more: Sequence[str]) -> None:
    """`streams` users for about three answers each, started over one answer."""
    spread = str((TTFT_MS + TOKENS * ITL_MS) / 1e3)
    flags = ["--concurrency", str(streams), "--requests", str(3 * streams), "--spread", spread, *more]
    with server(source, TTFT_MS, ITL_MS) as url:
        truth(url)
        found = run(url, *flags, "--prompt", str(PROMPT), "--answer", str(TOKENS), "--warm-up", "0")
        client = found.cell["client"]
        extra = f"start + report {found.wall_s - client['wall_s']:.2f} s, {found.memory_mb:.0f} MB"
        extra += f", {client['processes']} processes, aim {TTFT_AIM.get(streams, 0.02):.0%}"
        show(f"closed-{streams}", found, truth(url), extra)


def opened(source: Path | None) -> None:
    """120 requests a second for ten seconds."""
    with server(source, TTFT_MS, ITL_MS) as url:
        truth(url)
        flags = ["--rate", "120", "--duration", "10", "--prompt", str(PROMPT), "--answer", str(TOKENS)]
        show("open-120", run(url, *flags, "--warm-up", "0"), truth(url), "aim 2%")


def instant(source: Path | None) -> None:
    """2,000 requests a second against a server that answers at once: from due to written."""
    with server(source, 0.0, 0.0) as url:
        cell = run(url, "--rate", "2000", "--duration", "5", "--prompt", str(PROMPT), "--answer", "1").cell
        client = cell["client"]
        cpu = client["cpu_s"] / client["wall_s"]
        print(
            f"{'instant-2000':12} due to written p99 {client['sent_p99_s'] * 1e3:.2f} ms (aim 5 ms), "
            f"{cell['rates']['sent_per_s']:.1f} requests/s sent, {cpu:.0%} of a core"
        )


def bare(source: Path | None, streams: int) -> None:
    """Clients that only stamp, on the same load."""
    program = str(Path(__file__).with_name("bare_client.py"))
    with server(source, TTFT_MS, ITL_MS) as url:
        load = ["--streams", str(streams), "--requests", str(3 * streams), "--tokens", str(TOKENS)]
        for loop in ("uvloop", "asyncio"):
            truth(url)
            command = [sys.executable, program, url.rpartition(":")[2], "--loop", loop, *load]
            said = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
            error = off(said["ttft_s"], truth(url)["ttft"])
            print(f"bare {loop:7} TTFT {error:+7.2%}  {_cpu(said)}", flush=True)
    with server(source, TTFT_MS, ITL_MS) as url, tempfile.TemporaryDirectory() as folder:
        kernel = [compiled(Path(program).with_suffix(".c"), folder), url.rpartition(":")[2], str(streams), "5"]
        print(f"bare C        {_cpu(json.loads(subprocess.run(kernel, stdout=subprocess.PIPE, check=True).stdout))}")


def _cpu(said: dict[str, float]) -> str:
    return f"CPU {said['cpu_ms_per_1000_tokens']:.2f} ms/1k tokens"


def beside(source: Path | None, streams: int, name: str, venv: Path, tokenizer: Path) -> None:
    """Another tool, on the same load but longer and with its own way to begin; before it one request, for its start.

    Long enough for its start, which takes a third more or less from one time to the next, to matter little.
    """
    with server(source, TTFT_MS, ITL_MS) as url:
        print(f"{name}: one request ...", file=sys.stderr, flush=True)
        start = BY_NAME[name](venv, Asked(url, 1, 1, PROMPT, TOKENS, tokenizer))
        print(f"{name}: {start.cpu_s:.0f} s of CPU to start and report; the load ...", file=sys.stderr, flush=True)
        truth(url)
        said = BY_NAME[name](venv, Asked(url, streams, BESIDE_ANSWERS * streams, PROMPT, TOKENS, tokenizer))
        known = truth(url)
    thousands = max(1e-9, (said.tokens - start.tokens) / 1e3)
    print(
        f"{said.name:12} TTFT {off(said.ttft_s, known['ttft']):+7.2%}  TPOT {off(said.tpot_s, known['tpot']):+7.3%}"
        f"  ITL p99 {off(said.itl_p99_s, known['itl_p99']):+7.1%}"
        f"  CPU {(said.cpu_s - start.cpu_s) * 1e3 / thousands:6.2f} ms/1k tokens, and {start.cpu_s:.0f} s to start"
        f"  {said.memory_mb:.0f} MB  (server late {known['late'] * 1e3:.2f} ms)",
        flush=True,
    )


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--server", type=Path, help="a C file")
    parser.add_argument("--only", default="", help="closed-64, closed-256, ..., open, instant")
    parser.add_argument("--processes", help="of bide bench, for closed loops (auto)")
    parser.add_argument("--bare", action="store_true", help="beside each closed loop, clients that only stamp")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=VENV", help="vllm or aiperf")
    parser.add_argument("--tokenizer", type=Path, help="a folder, for the tools of --beside")
    given = parser.parse_args()
    if given.beside and given.tokenizer is None:
        parser.error("--beside needs --tokenizer")
    return given


def main() -> None:
    given = _given()
    more = ["--processes", given.processes] if given.processes else []
    wanted = given.only.split(",") if given.only else [*(f"closed-{n}" for n in STREAMS), "open", "instant"]
    for name in wanted:
        if not name.startswith("closed-"):
            (opened if name == "open" else instant)(given.server)
            continue
        streams = int(name.removeprefix("closed-"))
        closed(given.server, streams, more)
        if given.bare:
            bare(given.server, streams)
        for tool, _equals, venv in (each.partition("=") for each in given.beside):
            beside(given.server, streams, tool, Path(venv), given.tokenizer)


if __name__ == "__main__":
    main()
