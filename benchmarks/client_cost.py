"""What `bide bench` costs and how right it is, against a server that logs its own write times.

    python benchmarks/client_cost.py [--server fakesrv.c] [--only closed-64,open]

Without --server our own truth server is used (python -m bide.bench.truth), which needs a core itself. A C server is
compiled with cc; it must take --port, --ttft and --itl (milliseconds) and answer /__truth with its figures in JSON.
Every line says what was aimed at. Run it on a machine that is idle otherwise: the last column shows by how much the
server itself was late.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TTFT_MS, ITL_MS, TOKENS = 200.0, 20.0, 128
STREAMS = (64, 256, 512, 1024)
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
            program = f"{folder}/server"
            subprocess.run(["cc", "-O2", "-o", program, str(source), "-lm"], check=True, capture_output=True)
            command = [program, "--port", str(port), "--ttft", str(ttft_ms), "--itl", str(itl_ms)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                _wait(port)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


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


def run(url: str, *flags: str) -> tuple[dict[str, Any], float, float]:
    """One run as a user starts it: its JSON, seconds of wall clock, peak memory in MB (of it and its children)."""
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
    return json.loads(said), wall_s, usage.ru_maxrss / 1e3


def off(said: float, known: float) -> float:
    return said / known - 1 if known else float("nan")


def show(name: str, cell: dict[str, Any], known: dict[str, float], extra: str) -> None:
    """A line: errors against the truth, CPU."""
    latency, client = cell["latency"], cell["client"]
    tokens = cell["tokens"]["output"]
    cpu = client["cpu_s"] * 1e3 / max(1e-9, tokens / 1e3)
    errors = [off(latency["ttft"]["mean_s"], known["ttft"])]
    errors.append(
        off(latency["tpot"]["mean_s"], known["tpot"]) if "tpot" in latency and known["tpot"] else float("nan")
    )
    itl = latency.get("itl", {}).get("p99_s", {}).get("value")
    errors.append(off(itl, known["itl_p99"]) if itl else float("nan"))
    print(
        f"{name:12} TTFT {errors[0]:+7.2%}  TPOT {errors[1]:+7.3%}  ITL p99 {errors[2]:+7.1%}"
        f"  CPU {cpu:6.2f} ms/1k tokens  lag p99 {client['lag_p99_s'] * 1e3:6.2f} ms"
        f"  {extra}  (server late {known['late'] * 1e3:.2f} ms)",
        flush=True,
    )


def closed(source: Path | None, streams: int) -> None:
    """`streams` users for about three answers each, started over one answer."""
    spread = str((TTFT_MS + TOKENS * ITL_MS) / 1e3)
    flags = ["--concurrency", str(streams), "--requests", str(3 * streams), "--spread", spread]
    with server(source, TTFT_MS, ITL_MS) as url:
        truth(url)
        made, wall_s, memory = run(url, *flags, "--prompt", "64", "--answer", str(TOKENS), "--warm-up", "0")
        cell = made["cells"][0]
        overhead = wall_s - cell["client"]["wall_s"]
        extra = f"start + report {overhead:.2f} s, {memory:.0f} MB, aim {TTFT_AIM[streams]:.0%}"
        show(f"closed-{streams}", cell, truth(url), extra)


def opened(source: Path | None) -> None:
    """120 requests a second for ten seconds."""
    with server(source, TTFT_MS, ITL_MS) as url:
        truth(url)
        made, _wall_s, _memory = run(
            url, "--rate", "120", "--duration", "10", "--prompt", "64", "--answer", str(TOKENS), "--warm-up", "0"
        )
        show("open-120", made["cells"][0], truth(url), "aim 2%")


def instant(source: Path | None) -> None:
    """2,000 requests a second against a server that answers at once: from due to written."""
    with server(source, 0.0, 0.0) as url:
        made, _wall_s, _memory = run(url, "--rate", "2000", "--duration", "5", "--prompt", "64", "--answer", "1")
        client = made["cells"][0]["client"]
        cpu = client["cpu_s"] / client["wall_s"]
        print(
            f"{'instant-2000':12} due to written p99 {client['sent_p99_s'] * 1e3:.2f} ms (aim 5 ms), "
            f"{made['cells'][0]['rates']['sent_per_s']:.1f} requests/s sent, {cpu:.0%} of a core"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--server", type=Path, help="a C file")
    parser.add_argument("--only", default="", help="closed-64, closed-256, ..., open, instant")
    given = parser.parse_args()
    wanted = given.only.split(",") if given.only else [*(f"closed-{n}" for n in STREAMS), "open", "instant"]
    for name in wanted:
        if name.startswith("closed-"):
            closed(given.server, int(name.removeprefix("closed-")))
        else:
            (opened if name == "open" else instant)(given.server)


if __name__ == "__main__":
    main()
