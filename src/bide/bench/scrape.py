"""What the server says of itself while it is loaded: /metrics of vLLM and SGLang, and facts from its start."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bide.bench.clock import NS, now_ns
from bide.bench.target import Target
from bide.facts.engine_metrics import OBSERVED_ENGINES, EngineMetrics, engine_metrics

GAUGES = ("running", "waiting", "kv_usage")
COUNTERS = ("preemptions", "prefix_queries", "prefix_hits")
_TIMEOUT_S = 5.0
_LABEL = re.compile(rb'(\w+)="((?:[^"\\]|\\.)*)"')
_SERVER_FACTS = (
    "version",
    "model_path",
    "tp_size",
    "dp_size",
    "pp_size",
    "mem_fraction_static",
    "max_total_num_tokens",
    "chunked_prefill_size",
    "max_running_requests",
    "max_prefill_tokens",
    "disable_radix_cache",
    "attention_backend",
    "quantization",
    "kv_cache_dtype",
    "speculative_algorithm",
    "schedule_policy",
)
"""Of SGLang's /server_info (formerly /get_server_info), which also holds keys: only these are kept."""
_CACHE_FACTS = (
    "block_size",
    "cache_dtype",
    "enable_prefix_caching",
    "gpu_memory_utilization",
    "kv_cache_memory_bytes",
    "num_cpu_blocks",
    "num_gpu_blocks",
    "sliding_window",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """The state at one time; NaN for what the server does not tell. Counters count from the server's start."""

    time_s: float
    running: float = math.nan
    waiting: float = math.nan
    kv_usage: float = math.nan
    preemptions: float = math.nan
    prefix_queries: float = math.nan
    prefix_hits: float = math.nan


@dataclass(frozen=True, slots=True)
class ServerView:
    """Samples of one cell, in order."""

    engine: str = ""
    samples: tuple[Sample, ...] = ()

    def grown(self, counter: str) -> float:
        """By how much a counter grew; NaN where it is never told.

        One that is not there yet stands at 0, for SGLang shows some from their first count on; so does one that is
        less than before: the server began anew.
        """
        values = [float(getattr(each, counter)) for each in self.samples]
        told = [value for value in values if math.isfinite(value)]
        if not told:
            return math.nan
        before = values[0] if math.isfinite(values[0]) else 0.0
        found = 0.0
        for value in told:
            found += value - before if value >= before else value
            before = value
        return found

    @property
    def hit_share(self) -> float:
        """Of looked-up prompt tokens, those found in the prefix cache."""
        queries = self.grown("prefix_queries")
        return self.grown("prefix_hits") / queries if queries > 0 else math.nan

    def mean(self, gauge: str) -> float:
        found = [value for each in self.samples if math.isfinite(value := getattr(each, gauge))]
        return sum(found) / len(found) if found else math.nan

    def most(self, gauge: str) -> float:
        found = (getattr(each, gauge) for each in self.samples)
        return max((value for value in found if math.isfinite(value)), default=math.nan)

    def to_dict(self) -> dict[str, Any]:
        """Columns; None for what is not told."""
        columns = {name: [asdict(each)[name] for each in self.samples] for name in Sample.__slots__}
        tidy = {name: [round(v, 6) if math.isfinite(v) else None for v in values] for name, values in columns.items()}
        return {"engine": self.engine, "samples": tidy}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> ServerView:
        columns = {
            name: [math.nan if v is None else float(v) for v in values] for name, values in found["samples"].items()
        }
        rows = zip(*columns.values(), strict=True)
        return cls(str(found["engine"]), tuple(Sample(**dict(zip(columns, row, strict=True))) for row in rows))


def sample_of(text: bytes, time_s: float) -> tuple[str, Sample]:
    """The engine's name and its state, from the text of /metrics; an empty name where it is neither engine's."""
    body = b"\n" + text
    for engine in OBSERVED_ENGINES:
        if f"\n{engine}:".encode() in body:
            known = engine_metrics(engine)
            gauges = {name: _value(body, known, name) for name in (*GAUGES, *COUNTERS)}
            return engine, Sample(time_s, **gauges)
    return "", Sample(time_s)


def _value(body: bytes, known: EngineMetrics, role: str) -> float:
    """The sum over replicas (the mean for a share); ranks that repeat each other's figure count once."""
    for metric in known.names.get(role, ()):
        by_replica: dict[tuple[tuple[bytes, bytes], ...], float] = {}
        for labels, value in _series(body, f"{known.engine}:{metric.name}".encode()):
            kept = tuple(sorted(pair for pair in labels if pair[0].decode() not in known.rank_labels))
            by_replica[kept] = max(value, by_replica.get(kept, -math.inf))
        if by_replica:
            total = sum(by_replica.values())
            return total / len(by_replica) if role == "kv_usage" else total
    return math.nan


def _series(body: bytes, name: bytes) -> Iterator[tuple[list[tuple[bytes, bytes]], float]]:
    """Labels and value of each line that begins with exactly `name`."""
    place = body.find(b"\n" + name)
    while place >= 0:
        end = body.find(b"\n", place + 1)
        line = body[place + 1 : end if end >= 0 else len(body)]
        rest = line[len(name) :]
        if rest[:1] in (b"{", b" "):
            with contextlib.suppress(ValueError):
                yield _LABEL.findall(rest), float(rest.rpartition(b" ")[2])
        place = body.find(b"\n" + name, place + 1)


def cache_facts(text: bytes) -> dict[str, str]:
    """What vLLM's cache_config_info says of its pool."""
    for labels, _one in _series(b"\n" + text, b"vllm:cache_config_info"):
        return {name.decode(): value.decode() for name, value in labels if name.decode() in _CACHE_FACTS}
    return {}


def draft_facts(text: bytes) -> dict[str, str]:
    """vLLM counts drafts only where it makes them, and has no other word for how."""
    counter = b"vllm:spec_decode_num_draft_tokens_total"
    found = any(True for _series_of in _series(b"\n" + text, counter))
    return {"speculative_algorithm": counter.decode()} if found else {}


def server_facts(said: dict[str, Any] | None) -> dict[str, Any]:
    """What /server_info or /version says, less everything that could be a secret."""
    return {name: said[name] for name in _SERVER_FACTS if said and isinstance(said.get(name), str | int | float)}


async def fetch(target: Target, address: tuple[str, int], path: str) -> bytes | None:
    """The body at `path` over a connection of its own; None where there is none."""
    tls = target.tls.context() if target.scheme == "https" else None
    name = target.host if tls else None
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(*address, ssl=tls, server_hostname=name, limit=1 << 22)
            try:
                writer.write(target.head("GET", target.base + path) + b"Connection: close\r\n\r\n")
                return await _content(reader)
            finally:
                writer.close()
    except (OSError, TimeoutError, EOFError, ValueError, asyncio.LimitOverrunError):
        return None


async def _content(reader: asyncio.StreamReader) -> bytes | None:
    """The body of a 200, to the end that its head names: the server may keep the connection open (RFC 9112, 6.3).

    Raises EOFError for one that breaks off, ValueError for lengths that are no numbers.
    """
    status, *fields = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    if status.split()[1:2] != [b"200"]:
        return None
    named = {name.strip(): value.strip() for name, _colon, value in (line.partition(b":") for line in fields)}
    if named.get(b"transfer-encoding", b"").endswith(b"chunked"):
        return b"".join([chunk async for chunk in _chunks(reader)])
    if b"content-length" in named:
        return await reader.readexactly(int(named[b"content-length"]))
    return await reader.read(-1)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The chunks up to the empty one; what may trail it is not read."""
    while length := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        yield (await reader.readexactly(length + 2))[:-2]


@dataclass(slots=True)
class Poller:
    """Asks for /metrics before a cell, every `every_s` seconds while it runs, and after it."""

    target: Target
    address: tuple[str, int]
    every_s: float = 1.0
    engine: str = ""
    _seen: list[tuple[int, Sample]] = field(default_factory=list)
    _start_ns: int = 0

    async def once(self) -> bool:
        """Whether there is a /metrics that tells something, be it only later."""
        text = await fetch(self.target, self.address, "/metrics")
        if text is None:
            return False
        engine, sample = sample_of(text, 0.0)
        if engine:
            self.engine = engine
            self._seen.append((now_ns(), sample))
        return True

    def begin(self, start_ns: int) -> None:
        """The cell's clock shows 0 at `start_ns`; what was seen before it was seen at that moment."""
        self._start_ns = start_ns

    async def poll(self) -> None:
        """Until cancelled; a time without an answer is left out, for a busy server has the most to tell."""
        while True:
            await asyncio.sleep(self.every_s)
            await self.once()

    @property
    def view(self) -> ServerView:
        times_s = [max(0, time_ns - self._start_ns) / NS for time_ns, _sample in self._seen]
        samples = (replace(each, time_s=at) for at, (_time_ns, each) in zip(times_s, self._seen, strict=True))
        return ServerView(self.engine, tuple(samples))
