"""From names of files to a trace: finds the format, reads it, checks it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from bide.errors import BadInput
from bide.i18n import _
from bide.workload.reading import formats, records
from bide.workload.reading.asking import Ask
from bide.workload.reading.assembling import assemble
from bide.workload.reading.files import File, expand, look
from bide.workload.reading.raw import Raw
from bide.workload.reading.report import Reading
from bide.workload.reading.roles import candidates
from bide.workload.reading.servegen import CLIENT

Reader = Callable[[Sequence[File], Ask, str], Raw]
_HAS = {name: re.compile(rf'"{name}"\s*:\s*\[') for name in ("requests", "hash_ids", "conversations?", "rate_rps")}
_START = 20_000


def read(patterns: Sequence[str | Path], ask: Ask | None = None, field: str = "trace") -> Reading:
    """The trace in files of one format; globs and folders stand for the files that they match.

    Raises BadInput naming `field` for what is not there, is of no known format, or holds no request.
    """
    asked = ask or Ask()
    files = [look(path, field) for path in expand(patterns, field)]
    names = [asked.format] if asked.format else sorted({_format_of(file) or "" for file in files})
    if len(names) > 1:
        one, other = (name or _("a table") for name in names[:2])
        raise BadInput(
            field,
            str(files[0].path),
            _("files of one format"),
            _("there are {one} and {other}").format(one=one, other=other),
        )
    if names[0] in {known.name for known in formats.WHOLE}:
        known = formats.by_name(names[0])
        return assemble(_reader(known.name)(files, asked, field), files, known, asked, field)
    from bide.workload.reading.columns import read_tables

    raw, found = read_tables(files, asked, field)
    return assemble(raw, files, found, asked, field)


def _format_of(file: File) -> str | None:
    """The name of a format with a reader of its own; None for a table."""
    if CLIENT.search(file.path.name):
        return "servegen"
    if file.kind in ("csv", "parquet"):
        return None
    start = file.head[:_START]
    if _HAS["rate_rps"].search(file.head) and '"length_quantiles"' in file.head:
        return "servegen-aggregate"
    if _HAS["conversations?"].search(start):
        return "sharegpt"
    if _HAS["requests"].search(start):
        return "weka" if file.kind == "json" or _HAS["hash_ids"].search(start) else "weka-compact"
    return "vllm-custom" if _is_custom(file) else None


def _is_custom(file: File) -> bool:
    """Whether the first record is a prompt in words, and at most an output length."""
    if file.kind != "jsonl":
        return False
    try:
        record = json.loads(next(iter(file.lines), ""))
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(record, dict)
        and isinstance(record.get("prompt"), str)
        and not candidates("prompt", records.paths_of(record))
    )


def _reader(name: str) -> Reader:
    from bide.workload.reading import agents, servegen, texts

    return {
        "weka": agents.read_weka,
        "weka-compact": agents.read_compact,
        "sharegpt": texts.read_sharegpt,
        "vllm-custom": texts.read_custom,
        "servegen": servegen.read_clients,
        "servegen-aggregate": servegen.read_aggregate,
    }[name]
