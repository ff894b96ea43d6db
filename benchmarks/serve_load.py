"""Fifty people at once on `bide serve`: how long `memory` and `curve` take, alone and while a plan is made.

    python benchmarks/serve_load.py [--users 50] [--seconds 10] [--url http://127.0.0.1:8321]

Without --url a server is started for it. Each user sends a request, reads the answer and pauses; no two requests are
the same, so that nothing is answered from memory but where the table says `repeated`. Times are of whole answers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlsplit

MODELS = ("llama-3.1-8b", "qwen3-8b", "deepseek-v3", "gpt-oss-120b", "mixtral-8x7b", "qwen2.5-72b")
GPUS = ("h100-sxm", "h200", "b200", "mi300x")
PLAN: dict[str, object] = {
    "services": [
        {
            "name": "chat",
            "model": "llama-3.1-8b",
            "workload": {"trace": {"sample": "azure-conv-2023"}},
            "traffic": {"peak_rps": 40},
            "patience": {"e2e_p95": "20s"},
        }
    ],
    "hardware": {"gpus": ["h100-sxm", "h200", "a100-sxm-80gb", "l40s", "b200"], "max_gpus": 64},
}
Make = Callable[[], tuple[str, dict[str, object]]]
_serial = count()


@dataclass(frozen=True)
class Round:
    """One line of the table."""

    name: str
    make: Make
    think_s: float
    planning: bool = False


def memory() -> tuple[str, dict[str, object]]:
    """A deployment that nobody has asked for."""
    own = 0.5 + (next(_serial) % 40000) / 1e5
    deployment = {"model": random.choice(MODELS), "gpu": random.choice(GPUS), "tp": 8, "gpu_memory_utilization": own}
    return "/api/v1/memory", {"deployment": deployment}


def curve() -> tuple[str, dict[str, object]]:
    """A mix that nobody has asked for."""
    deployment = {"model": random.choice(MODELS), "gpu": random.choice(GPUS), "tp": 8}
    return "/api/v1/curve", {
        "deployment": deployment,
        "prompt_tokens": 500 + next(_serial) % 5000,
        "output_tokens": 300,
    }


def either() -> tuple[str, dict[str, object]]:
    """As a page asks: both."""
    return random.choice((memory, curve))()


def repeated() -> tuple[str, dict[str, object]]:
    """Of eight that many ask for."""
    model = random.choice(MODELS[:4])
    if random.random() < 0.5:
        return "/api/v1/memory", {"deployment": {"model": model, "gpu": "h200", "tp": 8}}
    return "/api/v1/curve", {
        "deployment": {"model": model, "gpu": "h200", "tp": 8},
        "prompt_tokens": 1000,
        "output_tokens": 500,
    }


ROUNDS = (
    Round("memory, pause 1 s", memory, 1.0),
    Round("curve, pause 1 s", curve, 1.0),
    Round("both, pause 1 s", either, 1.0),
    Round("both, pause 1 s, a plan runs", either, 1.0, planning=True),
    Round("repeated, no pause", repeated, 0.0),
    Round("memory, no pause", memory, 0.0),
    Round("curve, no pause", curve, 0.0),
    Round("both, no pause, a plan runs", either, 0.0, planning=True),
)


class Client:
    """One connection, kept open."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: dict[str, object] | None = None) -> tuple[int, bytes]:
        """Status and content. A connection that the server has closed meanwhile is opened again, as browsers do."""
        try:
            return await self._asked(method, path, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close()
            return await self._asked(method, path, body)

    async def _asked(self, method: str, path: str, body: dict[str, object] | None) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        data = json.dumps(body).encode() if body is not None else b""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        length = next(int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:"))
        return int(lines[0].split()[1]), await reader.readexactly(length)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def user(client: Client, what: Round, until_s: float, took_s: list[float], failed: list[bytes]) -> None:
    """Ask, pause, ask."""
    await asyncio.sleep(random.uniform(0, what.think_s or 0.2))
    while time.perf_counter() < until_s:
        path, body = what.make()
        begun = time.perf_counter()
        status, content = await client.ask("POST", path, body)
        took_s.append(time.perf_counter() - begun)
        if status != 200:
            failed.append(content[:200])
        if what.think_s:
            await asyncio.sleep(random.expovariate(1 / what.think_s))


async def play(what: Round, host: str, port: int, users: int, seconds: float) -> tuple[list[float], float]:
    """Latencies, and the share of the time that a plan was being made."""
    job = await start_plan(host, port) if what.planning else None
    took: list[float] = []
    failed: list[bytes] = []
    clients = [Client(host, port) for _each in range(users)]
    until = time.perf_counter() + seconds
    await asyncio.gather(*(user(client, what, until, took, failed) for client in clients))
    for client in clients:
        client.close()
    if failed:
        print(f"{len(failed)} failed, such as {failed[0]!r}", file=sys.stderr)
    if job:
        await end_plan(host, port, job)
    return took, seconds


async def start_plan(host: str, port: int) -> str:
    """Begin a plan, and wait until it is under way."""
    client = Client(host, port)
    status, content = await client.ask("POST", "/api/v1/plan", PLAN)
    if status != 202:
        raise SystemExit(f"the plan was not begun: {content.decode()}")
    job: str = json.loads(content)["id"]
    for _try in range(600):
        record = json.loads((await client.ask("GET", f"/api/v1/jobs/{job}"))[1])
        if record["share"] is not None or record["state"] not in ("waiting", "running"):
            break
        await asyncio.sleep(0.1)
    client.close()
    return job


async def end_plan(host: str, port: int, job: str) -> None:
    """Say whether it was still being made, and cancel it."""
    client = Client(host, port)
    record = json.loads((await client.ask("GET", f"/api/v1/jobs/{job}"))[1])
    if record["state"] != "running":
        print(f"the plan was over before the round was: {record['state']}", file=sys.stderr)
    await client.ask("DELETE", f"/api/v1/jobs/{job}")
    client.close()


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


@contextmanager
def server(url: str | None) -> Iterator[tuple[str, int]]:
    """The one at `url`, or one of our own."""
    if url:
        parts = urlsplit(url)
        yield parts.hostname or "127.0.0.1", parts.port or 8321
        return
    command = [sys.executable, "-m", "bide", "serve", "--port", "0", "--no-open"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = next(line for line in process.stderr if "http://" in line)
    parts = urlsplit(next(word for word in line.split() if word.startswith("http://")))
    time.sleep(8)  # until it has warmed itself
    try:
        yield parts.hostname or "127.0.0.1", parts.port or 0
    finally:
        process.terminate()
        process.wait(30)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--url")
    parser.add_argument("--only", default="", help="rounds whose name has this in it")
    asked = parser.parse_args()
    random.seed(1)
    with server(asked.url) as (host, port):
        print(f"{asked.users} users\n{'':32} {'answers':>8} {'/s':>7} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8}")
        for what in (each for each in ROUNDS if asked.only in each.name):
            took, seconds = asyncio.run(play(what, host, port, asked.users, asked.seconds))
            shown = [percentile(took, percent) * 1e3 for percent in (50, 95, 99)]
            figures = " ".join(f"{value:8.1f}" for value in shown)
            print(f"{what.name:32} {len(took):8,} {len(took) / seconds:7.1f} {figures}", flush=True)


if __name__ == "__main__":
    main()
