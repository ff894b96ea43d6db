"""Prompts of an exact number of tokens, and whole requests made of them before they are due."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bide.bench.demand import Demand
from bide.bench.target import Target
from bide.bench.words import Ribbon

_NONCE_WORDS, _BLOCK_WORDS = 6, 4
_SLOT = "\x00"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Prompt tokens of a text of w words: `overhead + per_word * w`; as the server's usage gave them, if `verified`."""

    overhead: float = 0.0
    per_word: float = 1.0
    verified: bool = False

    def words(self, tokens: int) -> int:
        return max(1, round((tokens - self.overhead) / self.per_word))


@dataclass(frozen=True, slots=True)
class Fields:
    """What a request's JSON holds beside model, prompt and length, as far as the server takes it."""

    max_tokens: str = "max_tokens"
    extra: Mapping[str, Any] = field(default_factory=dict)
    ends_only_at_length: bool = False
    """Ask for exactly the tokens wanted: `ignore_eos` and `min_tokens`, which vLLM and SGLang know."""
    usage: bool = True
    usage_in_every_chunk: bool = False

    def made(self, output_tokens: int) -> dict[str, Any]:
        found: dict[str, Any] = {"stream": True, self.max_tokens: output_tokens}
        if self.usage:
            found["stream_options"] = {"include_usage": True}
            if self.usage_in_every_chunk:
                found["stream_options"]["continuous_usage_stats"] = True
        if self.ends_only_at_length:
            found |= {"ignore_eos": True, "min_tokens": output_tokens}
        return found | dict(self.extra)


@dataclass(frozen=True, slots=True)
class Sharing:
    """What keeps prompts from being known to the server's cache, and what they are meant to share."""

    salt: int
    """Another for every run and cell; 0: prompts are the same in every run with the same seed."""
    prefix_tokens: int = 0
    """That all prompts begin with."""


@dataclass(frozen=True, slots=True)
class PromptMaker:
    """The text of each request, as JSON text without its quotes."""

    ribbon: Ribbon
    demand: Demand
    tokens: Tokens
    sharing: Sharing
    seed: int

    def text(self, number: int) -> bytes:
        """Exactly as many words as the wanted tokens are; unlike any other request's unless sharing is asked for."""
        place = number % len(self.demand)
        words = self.tokens.words(int(self.demand.prompt_tokens[place]))
        shared = self._shared(number, place, words)
        rest = words - sum(count for _text, count in shared)
        parts = [text for text, _count in shared]
        if rest:
            nonce = min(_NONCE_WORDS, rest)
            own = self._mixed(number + 1)
            parts.append(self.ribbon.spelled(own, nonce))
            parts.append(self.ribbon.cut(own >> 8, rest - nonce))
        return b"".join(parts)[1:]

    def _shared(self, number: int, place: int, words: int) -> list[tuple[bytes, int]]:
        """Beginnings that other prompts have too: the common prefix, or the blocks of the trace."""
        if self.demand.blocks is not None:
            return self._blocks(number // len(self.demand), place, words)
        prefix = min(words - 1, round(self.sharing.prefix_tokens / self.tokens.per_word))
        return [self._named(0, prefix)] if prefix > 0 else []

    def _blocks(self, turn: int, place: int, words: int) -> list[tuple[bytes, int]]:
        blocks = self.demand.blocks
        assert blocks is not None
        size = max(1, round(blocks.tokens / self.tokens.per_word))
        chain = blocks.chain(place)[: words // size].tolist()
        return [self._named((turn << 40) + identity + 1, size) for identity in chain]

    def _named(self, name: int, words: int) -> tuple[bytes, int]:
        """A stretch that is the same for the same name."""
        own = self._mixed(name << 1)
        head = min(_BLOCK_WORDS, words)
        return self.ribbon.spelled(own, head) + self.ribbon.cut(own >> 8, words - head), words

    def _mixed(self, value: int) -> int:
        return hash((value, self.sharing.salt, self.seed)) & (2**61 - 1)


class RequestMaker:
    """Whole HTTP requests: nothing is left to serialise when one is due."""

    def __init__(self, target: Target, model: str, fields: Fields, prompts: PromptMaker) -> None:
        self._target, self._model, self._fields, self._prompts = target, model, fields, prompts
        self._head = target.head("POST", target.path) + b"Content-Type: application/json\r\nContent-Length: "
        self._bodies: dict[int, tuple[bytes, bytes]] = {}

    def message(self, number: int) -> tuple[bytes, int, int]:
        """The bytes, the prompt tokens and the output tokens asked for."""
        demand = self._prompts.demand
        place = number % len(demand)
        output = int(demand.output_tokens[place])
        before, after = self._around(output)
        text = self._prompts.text(number)
        size = str(len(before) + len(text) + len(after)).encode()
        whole = b"".join((self._head, size, b"\r\n\r\n", before, text, after))
        return whole, int(demand.prompt_tokens[place]), output

    def _around(self, output_tokens: int) -> tuple[bytes, bytes]:
        """The JSON before and after the text."""
        if output_tokens not in self._bodies:
            raw = json.dumps(body(self._target, self._model, _SLOT, self._fields, output_tokens), separators=(",", ":"))
            before, after = raw.split(json.dumps(_SLOT)[1:-1])
            if len(self._bodies) < 10_000:
                self._bodies[output_tokens] = (before.encode(), after.encode())
            return before.encode(), after.encode()
        return self._bodies[output_tokens]


def body(target: Target, model: str, text: str, fields: Fields, output_tokens: int) -> dict[str, Any]:
    """The JSON of one request."""
    said: dict[str, Any] = {"prompt": text}
    if target.endpoint == "chat":
        said = {"messages": [{"role": "user", "content": text}]}
    return {"model": model, **said, **fields.made(output_tokens)}
