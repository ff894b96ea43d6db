"""An engine's start-up log: what it found of weights, pool, blocks and graphs.

Lines of vLLM 0.5 to 0.33 and SGLang 0.3 to 0.5 (which says GB for 2^30 bytes). Ranks print the same lines: the smallest
pool and the largest weights are taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bide.errors import BadInput
from bide.i18n import _
from bide.units import GIB

_LARGEST_BYTES = 1 << 30
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_N = r"(-?[\d,]+(?:\.\d+)?)"


@dataclass(frozen=True, slots=True)
class EngineLog:
    """Bytes are of one GPU; None: the log does not say. `settings`: keys of a deployment that it states."""

    path: str
    engine: str
    version: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    weights_bytes: int | None = None
    pool_bytes: int | None = None
    activation_bytes: int | None = None
    runtime_bytes: int | None = None
    """Outside torch."""
    graph_bytes: int | None = None
    estimated_graph_bytes: int | None = None
    total_bytes: int | None = None
    """That the engine sees of the card."""
    tokens: int | None = None
    blocks: int | None = None
    concurrency: float | None = None
    concurrency_tokens: int | None = None
    """The context that it is stated for."""
    load_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that says one figure: how it looks, what it is, and which of several ranks' counts."""

    pattern: re.Pattern[str]
    name: str
    scale: float = 1.0
    best: Callable[[float, float], float] = max


def _line(pattern: str, name: str, scale: float = 1.0, best: Callable[[float, float], float] = max) -> _Line:
    return _Line(re.compile(pattern.replace("<n>", _N), re.IGNORECASE), name, scale, best)


_LINES = (
    _line(r"Model loading took <n> Gi?B", "weights_bytes", GIB),
    _line(r"Loading model weights took <n> Gi?B", "weights_bytes", GIB),
    _line(r"model weights take <n>\s?GiB", "weights_bytes", GIB),
    _line(r"Load weight end\..*mem usage=<n> GB", "weights_bytes", GIB),
    _line(r"Model loading took .*?memory and <n> seconds", "load_s"),
    _line(r"Available KV cache memory: <n> GiB", "pool_bytes", GIB, min),
    _line(r"memory reserved for KV Cache is <n>\s?GiB", "pool_bytes", GIB, min),
    _line(r"reserved <n> GiB memory for KV Cache", "pool_bytes", GIB, min),
    _line(r"PyTorch activation peak memory takes <n>\s?GiB", "activation_bytes", GIB),
    _line(r"torch peak memory increase: <n>\s?GiB", "activation_bytes", GIB),
    _line(r"non_torch_memory takes <n>\s?GiB", "runtime_bytes", GIB),
    _line(r"non-torch forward increase memory: <n>\s?GiB", "runtime_bytes", GIB),
    _line(r"Graph capturing finished in .*?took <n> GiB", "graph_bytes", GIB),
    _line(r"Capture .*graph end\..*?mem usage=<n> GB", "graph_bytes", GIB),
    _line(r"Estimated CUDA graph memory: <n> GiB", "estimated_graph_bytes", GIB),
    _line(r"total_gpu_memory \(<n>\s?GiB\)", "total_bytes", GIB),
    _line(r"[GCX]PU KV cache size: <n> tokens", "tokens", 1, min),
    _line(r"KV Cache is allocated\..*#tokens: <n>", "tokens"),
    _line(r"max_total_num_tokens=<n>", "tokens", 1, min),
    _line(r"# (?:cuda|GPU|CPU) blocks: <n>, #", "blocks", 1, min),
    _line(r"Maximum concurrency for [\d,]+ tokens per request: <n>x", "concurrency", 1, min),
    _line(r"Maximum concurrency for <n> tokens per request", "concurrency_tokens"),
)
_POOL_OF_TWO = re.compile(r"KV Cache is allocated\..*K size: ([\d.]+) GB, V size: ([\d.]+) GB", re.IGNORECASE)
_POOL_OF_ONE = re.compile(r"KV Cache is allocated\..*KV size: ([\d.]+) GB", re.IGNORECASE)
_VERSION = re.compile(r"(?:LLM engine \(v|API server version |vLLM version:? )v?(\d[\w.+-]*)")
_SGLANG = re.compile(r"server_args=ServerArgs\(|sglang|KV Cache is allocated|max_total_num_tokens=", re.IGNORECASE)
_VLLM = re.compile(r"vllm|KV cache size|gpu_worker|LLM engine", re.IGNORECASE)
_SAID: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("model", r"\bmodel(?:_path|_tag)?'?[=:] ?'([^']+)'", str),
    ("tp", r"\b(?:tensor_parallel_size|tp_size)'?[=:] ?(\d+)", int),
    ("pp", r"\b(?:pipeline_parallel_size|pp_size)'?[=:] ?(\d+)", int),
    ("dp", r"\b(?:data_parallel_size|dp_size)'?[=:] ?(\d+)", int),
    ("max_model_len", r"\b(?:max_seq_len|max_model_len|context_len(?:gth)?)'?[=:] ?(\d+)", int),
    ("max_num_seqs", r"\b(?:max_num_seqs|max_running_requests)'?[=:] ?(\d+)", int),
    ("max_num_batched_tokens", r"\b(?:max_num_batched_tokens=|max_num_batched_tokens'?: )(\d+)", int),
    ("gpu_memory_utilization", r"\b(?:gpu_memory_utilization|mem_fraction_static)'?[=:] ?(0?\.\d+|1\.0)", float),
    ("gpu_memory_utilization", r"gpu_memory_utilization \((0?\.\d+|1\.0+)\)", float),
    ("kv_dtype", r"\bkv_cache_dtype'?[=:] ?'?([a-z0-9_]+)", str),
    ("speculative_tokens", r"\bnum_spec_tokens=(\d+)", int),
    ("enforce_eager", r"\benforce_eager'?[=:] ?(True|False)", lambda text: text == "True"),
    ("async_scheduling", r"Asynchronous scheduling is (enabled|disabled)", lambda text: text == "enabled"),
    ("enable_prefix_caching", r"\benable_prefix_caching'?[=:] ?(True|False)", lambda text: text == "True"),
)
_PATTERNS = tuple((name, re.compile(pattern), read) for name, pattern, read in _SAID)


def read_log(path: Path, field_name: str = "log") -> EngineLog:
    """Raises BadInput for a file that cannot be read, or in which no engine says anything of its memory."""
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise BadInput(field_name, str(path), _("a log of at most 1 GiB"))
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(field_name, str(path), _("a log that can be read"), str(error.strerror)) from error
    found = parse_log(text, str(path))
    if found is None:
        allowed = _("the start-up log of vLLM or SGLang, with its lines on memory")
        raise BadInput(field_name, str(path), allowed, _("no such line is in it"))
    return found


def parse_log(text: str, name: str = "log") -> EngineLog | None:
    """What a log says; None where that is nothing. Of an engine that was started again, the last start counts."""
    lines = _last_start(_ESCAPES.sub("", text).splitlines())
    figures: dict[str, float] = {}
    for line in lines:
        for figure, value, best in _figures(line):
            figures[figure] = best(figures[figure], value) if figure in figures else value
    if not figures:
        return None
    whole = {key: round(value) for key, value in figures.items() if key not in ("concurrency", "load_s")}
    floats: dict[str, Any] = {key: figures[key] for key in ("concurrency", "load_s") if key in figures}
    joined = "\n".join(lines)
    version = _VERSION.search(joined)
    return EngineLog(
        name,
        "sglang" if _SGLANG.search(joined) and not _VLLM.search(joined) else "vllm",
        version[1] if version else None,
        settings_of(joined),
        **whole,
        **floats,
    )


def _last_start(lines: list[str]) -> list[str]:
    """From the last time that an engine says how it was configured."""
    begins = [n for n, line in enumerate(lines) if "Initializing a" in line and "engine" in line]
    if len(begins) < 2:
        return lines
    later = lines[begins[-1] :]
    return later if any(True for line in later for _found in _figures(line)) else lines


def _figures(line: str) -> Iterator[tuple[str, float, Callable[[float, float], float]]]:
    """What one line says."""
    for each in _LINES:
        found = each.pattern.search(line)
        if found:
            yield each.name, round(float(found[1].replace(",", "")) * each.scale, 6), each.best
    two, one = _POOL_OF_TWO.search(line), _POOL_OF_ONE.search(line)
    if two:
        yield "pool_bytes", (float(two[1]) + float(two[2])) * GIB, max  # a drafter has a pool of its own, a smaller one
    elif one:
        yield "pool_bytes", float(one[1]) * GIB, max


def settings_of(text: str) -> dict[str, Any]:
    """Keys of a deployment that the log states, the first of each."""
    stated: dict[str, Any] = {}
    for name, pattern, read in _PATTERNS:
        found = pattern.search(text)
        if found and name not in stated and found[1] not in ("None", "auto"):
            stated[name] = read(found[1])
    return stated
