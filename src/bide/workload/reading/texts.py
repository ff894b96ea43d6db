"""Conversations and prompts as text (ShareGPT, vLLM's custom data set): they need a tokenizer, or a rule of thumb."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bide.errors import BadInput
from bide.i18n import _, ngettext
from bide.sourced import Assumption
from bide.workload.prefixes import SEEN_BLOCK_TOKENS, chains_of_seen
from bide.workload.reading.asking import Ask
from bide.workload.reading.cells import LARGEST_TOKENS
from bide.workload.reading.files import File
from bide.workload.reading.raw import Raw
from bide.workload.reading.report import Dropped, Finding

CHARACTERS_PER_TOKEN = 4.0
"""English text in the vocabularies of today: about 4 characters a token; other scripts have fewer."""
Count = Callable[[str], int]


def counter(tokenizer: str | None, field: str) -> tuple[Count, tuple[Assumption, ...]]:
    """A function that counts tokens: with a tokenizer.json (or a folder that has one), else by characters.

    Raises BadInput where the tokenizer cannot be read or the package for it is not there.
    """
    if tokenizer is None:
        why = _("no tokenizer was given: --tokenizer FILE counts exactly")
        assumed = Assumption(_("characters of a token"), CHARACTERS_PER_TOKEN, why)
        return lambda text: max(1, round(len(text) / CHARACTERS_PER_TOKEN)) if text else 0, (assumed,)
    path = Path(tokenizer)
    path = path / "tokenizer.json" if path.is_dir() else path
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        hint = _("pip install tokenizers")
        raise BadInput("tokenizer", tokenizer, _("nothing, while the package tokenizers is missing"), hint) from error
    try:
        loaded = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises plain Exception for a file that it cannot read
        raise BadInput(
            "tokenizer", tokenizer, _("a tokenizer.json or a folder that has one"), str(error)[:100]
        ) from error
    return lambda text: len(loaded.encode(text, add_special_tokens=False).ids), ()


def read_sharegpt(files: Sequence[File], ask: Ask, field: str) -> Raw:
    """Conversations: every answer is a request whose prompt is the conversation so far. There are no times."""
    import numpy as np

    count, assumptions = counter(ask.tokenizer, field)
    prompt, output, session, seen = [], [], [], []
    conversations = unpaired = 0
    for conversation in _conversations(files, field):
        conversations += 1
        before, told, answered = 0, 0, 0
        for asks, text in conversation:
            tokens = count(text)
            if asks:
                told += tokens
            elif told and tokens:
                prompt.append(before + told)
                output.append(tokens)
                session.append(conversations)
                seen.append(before)
                before, told, answered = before + told + tokens, 0, answered + 1
        unpaired += not answered
    prompts, sessions = np.array(prompt, np.int64), np.array(session, np.int64)
    text = ngettext(
        "{count:,} conversation; prompts hold all that was said before",
        "{count:,} conversations; prompts hold all that was said before",
        conversations,
    ).format(count=conversations)
    dropped = (Dropped("no_exchange", unpaired, _("a conversation without a question and its answer")),)
    return Raw(
        len(prompt) + unpaired,
        prompts,
        np.array(output, np.int64),
        blocks=chains_of_seen(prompts, seen, sessions, ask.block_tokens or SEEN_BLOCK_TOKENS),
        session=sessions,
        columns={"prompt": "conversations[].value", "output": "conversations[].value"},
        dropped=dropped if unpaired else (),
        findings=(Finding("sessions", text, {"sessions": conversations}),),
        assumptions=assumptions,
        made=True,
    )


def _conversations(files: Sequence[File], field: str) -> Iterator[Iterator[tuple[bool, str]]]:
    """The turns of each conversation: whether the user speaks, and what."""
    for file in files:
        for record in _records(file, field):
            turns = record.get("conversations", record.get("conversation")) if isinstance(record, dict) else None
            if isinstance(turns, list):
                yield ((_asks(turn), _words(turn)) for turn in turns if isinstance(turn, dict))


def _asks(turn: dict[str, Any]) -> bool:
    return str(turn.get("from", turn.get("role"))).lower() in ("human", "user", "system")


def _words(turn: dict[str, Any]) -> str:
    """What was said: `value` in ShareGPT's own files, `content` where they were turned into chat messages."""
    return str(turn.get("value") or turn.get("content") or "")


def _records(file: File, field: str) -> Iterator[Any]:
    with file.text() as text:
        if file.kind == "jsonl":
            for line in filter(str.strip, text):
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError):
                    yield None
            return
        try:
            document = json.load(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(field, str(file.path), _("one JSON document"), str(error)[:100]) from error
    yield from document if isinstance(document, list) else [document]


def read_custom(files: Sequence[File], ask: Ask, field: str) -> Raw:
    """Lines with a `prompt`, and `output_tokens` where they have it. There are no times."""
    import numpy as np

    count, assumptions = counter(ask.tokenizer, field)
    prompt, output, rows, unread = [], [], 0, 0
    for file in files:
        for record in _records(file, field):
            rows += 1
            text = record.get("prompt") if isinstance(record, dict) else None
            tokens = count(text) if isinstance(text, str) else 0
            asked = _asked(record.get("output_tokens")) if tokens else 0
            if asked is None:
                unread += 1
            elif tokens:
                prompt.append(tokens)
                output.append(asked)
    left_out = (
        Dropped("unreadable_output", unread, _("no output length, whole and 0 or more")),
        Dropped("no_prompt", rows - unread - len(prompt), _("no prompt")),
    )
    return Raw(
        rows,
        np.array(prompt, np.int64),
        np.array(output, np.int64),
        columns={"prompt": "prompt", "output": "output_tokens"},
        dropped=tuple(each for each in left_out if each.count),
        assumptions=assumptions,
        made=True,
    )


def _asked(given: object) -> int | None:
    """How long an answer is asked for: 0 where nothing is said, None for what is no length."""
    if given is None:
        return 0
    whole = isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= LARGEST_TOKENS
    return int(given) if whole else None  # type: ignore[call-overload]  # an int: checked above
