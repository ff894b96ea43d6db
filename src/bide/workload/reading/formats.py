"""The formats that are known by name: how a file of each is told from others, and what its columns do not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bide.errors import UnknownName
from bide.i18n import _
from bide.workload.reading.roles import plain


@dataclass(frozen=True, slots=True)
class Format:
    """A table whose columns include all of `needs` (names as in `roles.plain`) is of this format.

    `fields` fix the column of a role where names alone would mislead. `time_unit` and `block_tokens` are
    what the format's own description says, where it does. `cached_is_shared`: the cached tokens are those that a
    request has in common with the one before it in its session.
    """

    name: str
    title: str
    needs: tuple[str, ...] = ()
    time_unit: str | None = None
    block_tokens: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    cached_is_shared: bool = False


TABLES = (
    Format("azure", "Azure LLM inference trace", ("TIMESTAMP", "ContextTokens", "GeneratedTokens")),
    Format("burstgpt", "BurstGPT", ("Timestamp", "Request tokens", "Response tokens"), "s"),
    Format("bailian", "Qwen-Bailian usage trace", ("chat_id", "parent_chat_id", "input_length", "hash_ids"), "s", 16),
    Format("rtp-llm", "rtp-llm online log", ("ts", "il", "ol", "bh"), "ms", fields={"cached": "cached"}),
    Format("rtp-llm-arrivals", "rtp-llm arrivals", ("relative_timestamp_ms", "input_tokens"), "ms"),
    Format(
        "tracelab",
        "TraceLab rounds",
        ("session_id", "round_index", "input_tokens_total", "prefix_tokens"),
        fields={"time": "timing_events.0.timestamp", "cached": "prefix_tokens", "id": "round_id"},
        cached_is_shared=True,
    ),
    Format("timed-trace", "Mooncake or vLLM timed trace", ("timestamp", "input_length", "output_length")),
    Format("baseten", "completion trace", ("timestamp_start_unix_ms", "input_tokens", "output_tokens"), "ms"),
    Format("vidur", "Vidur lengths", ("num_prefill_tokens", "num_decode_tokens"), "s"),
    Format("bide", "bide trace", ("arrival_s", "prompt_tokens", "output_tokens"), "s"),
    Format("log", "access log", ()),
    Format("columns", "table with named columns", ()),
)
"""Tables: one row or one JSON object a request; the first that fits is taken. The last two fit by what is in them."""
WHOLE = (
    Format("weka", "WEKA agent sessions"),
    Format("weka-compact", "WEKA agent sessions, compact"),
    Format("sharegpt", "ShareGPT conversations"),
    Format("vllm-custom", "vLLM custom prompts"),
    Format("servegen", "ServeGen clients"),
    Format("servegen-aggregate", "ServeGen aggregate"),
)
"""Formats with a reader of their own."""
_LOG_MARKS = ("usage", "starttime", "completionstarttime", "callid", "calltype")


def by_name(name: str) -> Format:
    """The format called `name`. Raises UnknownName with the nearest."""
    names = [known.name for known in (*TABLES, *WHOLE)]
    for known in (*TABLES, *WHOLE):
        if known.name == name.lower():
            return known
    raise UnknownName("format", name, names, _("one of {names}").format(names=", ".join(names)))


def of_columns(columns: Iterable[str]) -> Format:
    """The format of a table with these columns (names, or dotted paths of JSON objects)."""
    paths = list(columns)
    there = {plain(path.split(".")[0]) for path in paths}
    for known in TABLES[:-2]:
        if all(plain(name) in there for name in known.needs):
            return known
    is_log = any(plain(part) in _LOG_MARKS for path in paths for part in path.split("."))
    return by_name("log" if is_log else "columns")
