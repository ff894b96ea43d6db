"""What a server takes and how it counts, asked of it before the load: fields, chunks, tokens a word."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bide.bench.client import Client, Rules
from bide.bench.clock import NS, now_ns
from bide.bench.exchange import Exchange
from bide.bench.prompts import Fields, Tokens, body
from bide.bench.pump import Pump
from bide.bench.target import Target
from bide.bench.words import Ribbon
from bide.errors import BadInput
from bide.i18n import _

_SHORT_WORDS, _LONGEST_WORDS = 24, 1024
_OUTPUT_TOKENS = 8
_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found. `ttft_s` and `tpot_s` are of single requests to a server at rest."""

    model: str
    max_model_len: int | None
    fields: Fields
    tokens: Tokens
    counts_usage: bool
    chunks_are_tokens: bool
    output_exact: bool
    """Whether the answer had exactly the tokens asked for."""
    ttft_s: float
    tpot_s: float
    requests: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "max_model_len": self.max_model_len,
            "ignores_eos": self.fields.ends_only_at_length,
            "usage": self.counts_usage,
            "one_token_per_chunk": self.chunks_are_tokens,
            "output_exact": self.output_exact,
            "prompt_tokens": {
                "overhead": round(self.tokens.overhead, 4),
                "per_word": round(self.tokens.per_word, 6),
                "verified": self.tokens.verified,
            },
            "ttft_s": self.ttft_s,
            "tpot_s": self.tpot_s,
            "requests": self.requests,
        }


class Asker:
    """Single requests, one after another or a few together."""

    def __init__(self, target: Target, timeout_s: float = _TIMEOUT_S) -> None:
        self.target = target
        self.asked = 0
        self._waiting: dict[int, asyncio.Future[Exchange]] = {}
        rules = Rules(timeout_s=min(timeout_s, _TIMEOUT_S))
        self._client = Client(target, target.address(), rules, self._done, Pump())
        self._client.start()

    def _done(self, exchange: Exchange) -> None:
        future = self._waiting.pop(exchange.number)
        if not future.cancelled():
            future.set_result(exchange)

    async def raw(self, head: bytes, content: bytes = b"") -> Exchange:
        self.asked += 1
        length = b"Content-Length: %d\r\n\r\n" % len(content)
        exchange = Exchange(self.asked, now_ns(), head + length + content, 0, 0)
        future = self._waiting[self.asked] = asyncio.get_running_loop().create_future()
        self._client.submit(exchange)
        done: Exchange = await future
        return done

    async def get(self, path: str) -> dict[str, Any] | None:
        """The JSON object at a path of the server; None where there is none."""
        exchange = await self.raw(self.target.head("GET", self.target.base + path))
        if exchange.status in ("connect_error", "timeout"):
            why = exchange.error or _("the connection closed at once: http or https?")
            raise BadInput("url", self.target.shown, _("a server that answers"), why)
        try:
            said = json.loads(exchange.body()) if exchange.http_status == 200 else None
        except ValueError:
            return None
        return said if isinstance(said, dict) else None

    async def generate(self, model: str, text: str, fields: Fields, output_tokens: int) -> Exchange:
        said = body(self.target, model, text, fields, output_tokens)
        content = json.dumps(said, separators=(",", ":")).encode()
        head = self.target.head("POST", self.target.path) + b"Content-Type: application/json\r\n"
        return await self.raw(head, content)

    async def close(self) -> None:
        await self._client.close()


async def probe(
    asker: Asker, model: str | None, ribbon: Ribbon, mean_words: int, extra: Mapping[str, Any], exact: bool
) -> Probe:
    """Ask a few short requests. Raises BadInput where the server does not answer them well."""
    models = await asker.get("/v1/models")
    found, longest = _model(models, model, asker.target)
    fields = Fields(extra=dict(extra), ends_only_at_length=exact)
    words = (_SHORT_WORDS, max(2 * _SHORT_WORDS, min(mean_words, _LONGEST_WORDS, (longest or 1 << 30) // 4)))
    first, fields = await _first(asker, found, ribbon.cut(asker.asked, words[0]), fields)
    second = await _asked(asker, found, ribbon.cut(7919 + asker.asked, words[1]), fields)
    fields, alone = await _chunks(asker, found, ribbon, first, fields)
    answer = first.answer
    return Probe(
        found,
        longest,
        fields,
        _tokens(first, second, words),
        answer.usage.output_tokens is not None,
        alone,
        answer.output_tokens() == _OUTPUT_TOKENS,
        (answer.chunk_ns[0] - first.sent_ns) / NS,
        (answer.chunk_ns[-1] - answer.chunk_ns[0]) / NS / max(1, answer.output_tokens() - 1),
        asker.asked,
    )


def _model(models: dict[str, Any] | None, model: str | None, target: Target) -> tuple[str, int | None]:
    served = [each for each in (models or {}).get("data") or () if isinstance(each, dict)]
    names = [str(each.get("id")) for each in served]
    if model is None and not names:
        raise BadInput("model", None, _("a name: {url} does not list its models").format(url=target.shown))
    if model is not None and names and model not in names:
        raise BadInput("model", model, _("one that is served: {names}").format(names=", ".join(names[:8])))
    chosen = served[names.index(model)] if model in names else served[0] if served and model is None else {}
    length = chosen.get("max_model_len")
    return model or names[0], length if isinstance(length, int) else None


async def _first(asker: Asker, model: str, text: bytes, fields: Fields) -> tuple[Exchange, Fields]:
    """A request with all fields, and with fewer where the server does not know them."""
    tried = [fields, replace(fields, ends_only_at_length=False), replace(fields, max_tokens="max_completion_tokens")]
    tried += [replace(tried[2], ends_only_at_length=False), replace(tried[1], usage=False)]
    last = None
    for each in (one for place, one in enumerate(tried) if one not in tried[:place]):
        exchange = await asker.generate(model, text.decode().strip(), each, _OUTPUT_TOKENS)
        if exchange.status == "ok":
            return exchange, each
        last = last or exchange
        if exchange.status != "http_error" or exchange.http_status not in (400, 422):
            break
    assert last is not None
    raise _refused(asker.target, last)


async def _asked(asker: Asker, model: str, text: bytes, fields: Fields) -> Exchange:
    exchange = await asker.generate(model, text.decode().strip(), fields, 1)
    if exchange.status != "ok":
        raise _refused(asker.target, exchange)
    return exchange


def _refused(target: Target, exchange: Exchange) -> BadInput:
    return BadInput("url", target.shown, _("a server that answers a short request"), exchange.error)


async def _chunks(asker: Asker, model: str, ribbon: Ribbon, first: Exchange, fields: Fields) -> tuple[Fields, bool]:
    """Whether each chunk is one token; where not, usage in every chunk, if the server gives it."""
    answer = first.answer
    if answer.usage.output_tokens is None or answer.usage.output_tokens == len(answer.chunk_ns):
        return fields, True
    counting = replace(fields, usage_in_every_chunk=True)
    again = await asker.generate(model, ribbon.cut(1543, _SHORT_WORDS).decode().strip(), counting, _OUTPUT_TOKENS)
    known = again.status == "ok" and len(again.answer.counted) == len(again.answer.chunk_ns)
    return (counting if known else fields), False


def _tokens(first: Exchange, second: Exchange, words: tuple[int, int]) -> Tokens:
    """A line through two prompts: tokens that the chat template adds, and tokens a word."""
    one, other = (each.answer.usage.prompt_tokens for each in (first, second))
    if one is None or other is None or other <= one:
        return Tokens()
    per_word = (other - one) / (words[1] - words[0])
    return Tokens(one - per_word * words[0], per_word, True)
