"""Agent sessions with their pauses: WEKA's one JSON document a session, and the same in one line a session."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bide.errors import BadInput
from bide.i18n import _, ngettext
from bide.sourced import Assumption
from bide.workload.blocks import Blocks
from bide.workload.prefixes import chains_of_seen
from bide.workload.reading.asking import Ask
from bide.workload.reading.cells import LARGEST_TOKENS
from bide.workload.reading.files import File
from bide.workload.reading.raw import Raw
from bide.workload.reading.report import Dropped, Finding

_BLOCK_TOKENS, _LARGEST_BLOCK = 64, 1_000_000
_LONGEST_S = 1e9
"""No session goes on for thirty years."""


@dataclass(slots=True)
class _Rows:
    """Requests of many sessions, column by column."""

    time_s: list[float] = field(default_factory=list)
    prompt: list[int] = field(default_factory=list)
    output: list[int] = field(default_factory=list)
    think_s: list[float] = field(default_factory=list)
    session: list[int] = field(default_factory=list)
    chains: list[Sequence[int]] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    rows: int = 0
    unusable: int = 0
    example: str = ""

    def add(self, session: int, time_s: object, prompt: object, output: object, think_s: object) -> bool:
        """Take a request, or count it as unusable."""
        self.rows += 1
        at_s, pause_s = _seconds(time_s), _seconds(think_s)
        if not (_is_length(prompt) and _is_length(output) and prompt and math.isfinite(at_s)):
            self.unusable += 1
            return False
        self.time_s.append(at_s)
        self.prompt.append(prompt)  # type: ignore[arg-type]  # an int: checked above
        self.output.append(output)  # type: ignore[arg-type]
        self.think_s.append(pause_s if pause_s >= 0 else math.nan)
        self.session.append(session)
        return True


def _is_length(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= LARGEST_TOKENS


def _seconds(given: object) -> float:
    """A time or a pause; NaN for what is none."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) < _LONGEST_S:
        return math.nan
    return float(given)


def read_weka(files: Sequence[File], ask: Ask, field: str) -> Raw:
    """Documents with `requests`, each with t, in, out, hash_ids and think_time; sub-agents within them.

    A sub-agent is a session of its own that begins when it was called; block ids are the document's own.
    """
    rows, sizes, ids_before = _Rows(), set[int](), 0
    for file in files:
        for document in _documents(file, field):
            sizes.add(_block_size(document.get("block_size", _BLOCK_TOKENS), file, field))
            ids_before = _add_document(rows, document, ids_before)
    tokens = _one_size(sizes, files, ask, field)
    return _sessions(rows, Blocks.of(rows.chains, tokens).numbered(), ask, "weka")


def _documents(file: File, field: str) -> Iterator[Mapping[str, Any]]:
    """The sessions of a file: one document, or one a line."""
    with file.text() as text:
        for written in filter(str.strip, text) if file.kind == "jsonl" else [text.read()]:
            try:
                document = json.loads(written)
            except (ValueError, RecursionError) as error:
                raise BadInput(field, str(file.path), _("one JSON document"), str(error)[:100]) from error
            if not isinstance(document, dict) or not isinstance(document.get("requests"), list):
                raise BadInput(field, str(file.path), _("a JSON document with a list of requests"))
            yield document


def _block_size(given: object, file: File, field: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 0 < given <= _LARGEST_BLOCK:
        allowed = _("a block_size from 1 to {most:,} tokens").format(most=_LARGEST_BLOCK)
        raise BadInput(field, str(file.path), allowed, _("it says {given!r}").format(given=str(given)[:40]))
    return given


def _add_document(rows: _Rows, document: Mapping[str, Any], ids_before: int) -> int:
    """Add a document's requests, its block ids after those of the documents before; gives the next free id."""
    numbers: dict[object, int] = {}
    threads: dict[object, int] = {}
    first = 1 + max(rows.session, default=-1)
    for thread, start_s, request in _requests(document["requests"], None, 0.0):
        session = threads.setdefault(thread, first + len(threads))
        chain = request.get("hash_ids")
        time_s = request.get("t")
        at_s = start_s + time_s if isinstance(time_s, int | float) else None
        if rows.add(session, at_s, request.get("in"), request.get("out"), request.get("think_time")):
            ids = chain if isinstance(chain, list) else []
            rows.chains.append([numbers.setdefault(str(i), ids_before + len(numbers)) for i in ids])
    return ids_before + len(numbers)


def _requests(
    given: Sequence[Any], thread: object, start_s: float
) -> Iterator[tuple[object, float, Mapping[str, Any]]]:
    """Every request with its thread (None: the main one) and when its clock began."""
    for number, request in enumerate(given):
        if not isinstance(request, dict):
            continue
        if isinstance(request.get("requests"), list):
            begun = request.get("t")
            inner = (thread, request.get("agent_id", number))
            yield from _requests(
                request["requests"], inner, start_s + (begun if isinstance(begun, int | float) else 0.0)
            )
        else:
            yield thread, start_s, request


def read_compact(files: Sequence[File], ask: Ask, field: str) -> Raw:
    """Lines with `requests` as lists of t_s, prompt, output, prefix tokens seen before, api_time_s, think_time_s."""
    rows, sizes, bad = _Rows(), set[int](), 0
    for file in files:
        with file.text() as lines:
            for line in filter(str.strip, lines):
                try:
                    document = json.loads(line)
                    requests = [(r[0], r[1], r[2], int(r[3]), r[5]) for r in document["requests"]]
                    size = document["block_size"]
                except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError):
                    bad += 1
                    continue
                sizes.add(_block_size(size, file, field))
                session = 1 + max(rows.session[-1:], default=-1)
                for time_s, prompt, output, seen, think_s in requests:
                    if rows.add(session, time_s, prompt, output, think_s):
                        rows.seen.append(min(max(0, seen), rows.prompt[-1]))
    tokens = _one_size(sizes, files, ask, field)
    raw = _sessions(rows, None, ask, "weka-compact")
    blocks = chains_of_seen(raw.prompt_tokens, rows.seen, rows.session, tokens)
    dropped = (*raw.dropped, *([Dropped("not_json", bad, _("no session"))] if bad else []))
    return _with(raw, blocks=blocks, rows=raw.rows + bad, dropped=dropped)


def _one_size(sizes: set[int], files: Sequence[File], ask: Ask, field: str) -> int:
    if ask.block_tokens:
        return ask.block_tokens
    if not sizes:
        raise BadInput(field, str(files[0].path), _("a JSON document with a list of requests"))
    if len(sizes) != 1:
        raise BadInput(field, str(files[0].path), _("sessions hashed in blocks of one size"))
    return sizes.pop()


def _with(raw: Raw, **changes: Any) -> Raw:
    from dataclasses import replace

    return replace(raw, **changes)


def _sessions(rows: _Rows, blocks: Blocks | None, ask: Ask, name: str) -> Raw:
    """The columns, sessions laid over one another: none of them says when it began."""
    import numpy as np

    session = np.array(rows.session, np.int64)
    time_s, assumptions = _overlaid(np.array(rows.time_s), session, ask.seed)
    why = _("unusable: no time, no prompt or no output")
    dropped = (Dropped("unreadable_request", rows.unusable, why),) if rows.unusable else ()
    text = ngettext(
        "{count:,} session, its requests' pauses recorded",
        "{count:,} sessions, their requests' pauses recorded",
        len(set(rows.session)),
    ).format(count=len(set(rows.session)))
    return Raw(
        rows.rows,
        np.array(rows.prompt, np.int64),
        np.array(rows.output, np.int64),
        time_s,
        blocks,
        session,
        np.array(rows.think_s),
        columns={"prompt": "in", "output": "out", "time": "t", "think": "think_time"},
        dropped=dropped,
        findings=(Finding("sessions", text, {"sessions": len(set(rows.session))}),),
        assumptions=assumptions,
        made=True,
    )


def _overlaid(time_s: Any, session: Any, seed: int) -> tuple[Any, tuple[Assumption, ...]]:
    """Sessions begin at random within the span of the longest one, instead of all at the same moment."""
    import numpy as np

    if not len(session) or session[0] == session[-1]:
        return time_s, ()
    starts = np.random.default_rng(seed).uniform(0.0, max(float(time_s.max()), 1.0), int(session.max()) + 1)
    why = _("every session's clock begins at 0; all at once would be a herd that never was")
    return time_s + starts[session], (Assumption(_("beginnings of sessions"), _("at random, one span long"), why),)
