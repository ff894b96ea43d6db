"""A truth server in a thread, and loads on it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bide.bench.asking import Ask
from bide.bench.loads import Load
from bide.bench.loop import run_on_loop
from bide.bench.result import Bench, Cell
from bide.bench.session import bench
from bide.bench.target import target_of
from bide.bench.truth import Truth, port_of, serve
from bide.bench.truth_options import Behaviour

QUICK = Behaviour(ttft_s=0.02, itl_s=0.002)
"""Fast enough for tests, slow enough to be measured."""


@dataclass
class Scene:
    url: str
    truth: Truth


@contextlib.contextmanager
def served(behaviour: Behaviour = QUICK, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Iterator[Scene]:
    """The server, until the block ends."""
    ready, scenes = threading.Event(), []
    stopping: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def live() -> None:
        server, truth = await serve(behaviour, tls=tls, host=host)
        stop = asyncio.Event()
        stopping.append((asyncio.get_running_loop(), stop))
        shown = f"[{host}]" if ":" in host else host
        scenes.append(Scene(f"http{'s' if tls else ''}://{shown}:{port_of(server)}", truth))
        ready.set()
        await stop.wait()
        server.close()

    thread = threading.Thread(target=lambda: run_on_loop(live()))
    thread.start()
    assert ready.wait(10)
    try:
        yield scenes[0]
    finally:
        loop, stop = stopping[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def users(count: int, requests: int, **more: Any) -> Load:
    return Load("closed", concurrency=count, requests=requests, spread_s=0.0, **more)


def loaded(url: str, load: Load, journal: Path | None = None, headers: tuple[str, ...] = (), **asked: Any) -> Bench:
    """A run without probe and /metrics, one word a token, unless asked otherwise."""
    plain: dict[str, Any] = {
        "prompt": "40",
        "answer": "8",
        "model": "truth",
        "probe": False,
        "scrape_s": 0.0,
        "warm_up_s": 0.0,
    }
    endpoint = asked.pop("endpoint", None)
    return bench(target_of(url, endpoint, headers), Ask((load,), **(plain | asked)), journal)


def cell_of(behaviour: Behaviour, load: Load | None = None, **asked: Any) -> Cell:
    """One cell of a server with that behaviour: 8 requests of 2 users, unless asked otherwise."""
    with served(behaviour) as scene:
        return loaded(scene.url, load or users(2, 8), **asked).cells[0]


def quick(**changes: Any) -> Behaviour:
    return replace(QUICK, **changes)
