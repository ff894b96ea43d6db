"""One connection to the truth server: reads requests, writes answers when they are due, and logs when it did."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httptools

from bide.bench.clock import NS, now_ns
from bide.bench.truth_log import Log, Seen
from bide.bench.truth_words import Speaker, comment, head, whole

if TYPE_CHECKING:
    from bide.bench.truth import Truth

MODEL = "truth"
_TICK_NS = 200_000


class Served(asyncio.Protocol):
    """One connection to the server."""

    def __init__(self, truth: Truth) -> None:
        self._truth, self._behaviour = truth, truth.behaviour
        self._transport: asyncio.Transport | None = None
        self._speaker: Speaker | None = None
        self._seen: Seen | None = None
        self._next_ns = 0
        self._busy = False
        self._reset()

    def _reset(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._path, self._key = b"", b""
        self._body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a stream transport, whatever its class
        self._truth.log.connections += 1

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self in self._truth.waiting:
            self._truth.waiting.remove(self)
        elif self._busy:
            self._truth.end()
        self._busy = False

    def on_url(self, url: bytes) -> None:
        self._path += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"authorization":
            self._key = value

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        path, content, key = self._path.decode(), b"".join(self._body), self._key.decode()
        self._reset()
        if path.endswith("/completions"):
            self._generate(path, json.loads(content), key)
        else:
            self._tell(path)

    def _tell(self, path: str) -> None:
        truth = self._truth
        if path.startswith("/v1/models"):
            model = {"id": MODEL, "object": "model", "max_model_len": self._behaviour.max_model_len}
            self._simple(200, {"object": "list", "data": [model]})
        elif path.startswith("/metrics"):
            self._write(whole(200, truth.metrics(), "text/plain", close=True))
            self._close()
        elif path.startswith("/__truth"):
            said = truth.log.to_dict()
            if path.endswith("reset=1"):
                active = truth.log.active
                truth.log = Log(active=active, most_active=active)
            self._simple(200, said)
        else:
            self._simple(404, {"detail": "Not Found"})

    def _simple(self, status: int, said: object) -> None:
        self._write(whole(status, json.dumps(said).encode()))

    def _generate(self, path: str, asked: dict[str, Any], key: str) -> None:
        behaviour, truth = self._behaviour, self._truth
        if behaviour.key and key != f"Bearer {behaviour.key}":
            self._simple(401, {"error": {"message": f"Incorrect API key provided: {key}", "code": 401}})
            return
        if behaviour.refuse_ignore_eos and "ignore_eos" in asked:
            self._simple(400, {"error": {"message": "Unknown field: ignore_eos", "code": 400}})
            return
        truth.count += 1
        if _hit(behaviour.error_500_every, truth.count):
            truth.log.requests.append(Seen(now_ns()))
            self._simple(500, {"error": {"message": "overloaded", "type": "server_error", "code": 500}})
            return
        self._speaker = Speaker(behaviour, truth.count, "/chat/" in path, asked)
        self._seen = Seen(now_ns(), prompt_tokens=self._speaker.prompt_tokens)
        truth.log.requests.append(self._seen)
        self._busy = True
        truth.begin(self)

    def answer(self) -> None:
        """Begin to write: the first token after the prefill."""
        speaker, behaviour = self._speaker, self._behaviour
        assert speaker is not None
        ttft_s = behaviour.ttft_s + behaviour.prefill_s_per_token * speaker.prompt_tokens
        self._truth.prefix_queries += speaker.prompt_tokens
        if behaviour.prefix_cache and speaker.prompt in self._truth.known_prompts:
            self._truth.prefix_hits += speaker.prompt_tokens
            ttft_s /= 10
        self._truth.known_prompts.add(speaker.prompt if behaviour.prefix_cache else "")
        if not behaviour.stream:
            wait_s = ttft_s + behaviour.itl_s * (speaker.tokens - 1)
            self._truth.loop.call_later(wait_s, self._whole)
            return
        if behaviour.role == "early":
            self._write(head() + speaker.role())
        self._next_ns = now_ns() + int(ttft_s * NS)
        self._wait()

    def _wait(self) -> None:
        self._truth.loop.call_later(max(0.0, (self._next_ns - now_ns() - _TICK_NS) / NS), self._step)

    def _step(self) -> None:
        """Write what is due: one write of one or several events, then plan the next on the absolute grid."""
        speaker, seen = self._speaker, self._seen
        if self._transport is None or speaker is None or seen is None:
            return
        behaviour, truth, now = self._behaviour, self._truth, now_ns()
        truth.log.late_ns += now - self._next_ns
        truth.log.writes += 1
        first = not seen.first_ns
        out = b""
        if first:
            out = b"" if behaviour.role == "early" else head() + (comment() if behaviour.comments else b"")
            out += speaker.role() if behaviour.role == "with" else b""
        if _hit(behaviour.hang_every, speaker.number):
            self._write(out)
            return
        before = speaker.sent
        out += speaker.speak(1 if first else behaviour.events_per_write)
        self._logged(seen, now, speaker.sent - before)
        if self._harmed(speaker, out):
            return
        if speaker.sent >= speaker.tokens:
            self._finish(out + speaker.close())
            return
        self._write(out)
        self._next_ns += int(behaviour.itl_s * NS) * max(1, speaker.sent - before if not first else 1)
        self._wait()

    def _logged(self, seen: Seen, now: int, tokens: int) -> None:
        if not tokens:
            return
        if seen.first_ns:
            self._truth.log.gaps_ns.extend([(now - seen.last_ns) // tokens] * tokens)
        seen.first_ns, seen.last_ns = seen.first_ns or now, now
        seen.tokens += tokens

    def _harmed(self, speaker: Speaker, out: bytes) -> bool:
        """Whether this request ends here, in one of the bad ways."""
        behaviour, number = self._behaviour, speaker.number
        if speaker.sent < speaker.tokens / 2:
            return False
        if _hit(behaviour.cut_every, number):
            self._write(out)
            self._close()
        elif _hit(behaviour.error_in_stream_every, number):
            self._finish(out + speaker.error(), ok=False)
        elif _hit(behaviour.silent_end_every, number):
            self._finish(out + speaker.end(), ok=False)
        else:
            return False
        return True

    def _whole(self) -> None:
        speaker = self._speaker
        if self._transport is not None and speaker is not None:
            self._finish(whole(200, json.dumps(speaker.whole()).encode()))

    def _finish(self, out: bytes, ok: bool = True) -> None:
        assert self._seen is not None
        self._seen.ok = ok
        self._busy, self._speaker = False, None
        self._write(out)
        self._truth.end()
        if not self._behaviour.keep_alive:
            self._close()
        elif self._behaviour.close_kept_after_s:
            self._truth.loop.call_later(self._behaviour.close_kept_after_s, self._close)

    def _write(self, out: bytes) -> None:
        if self._transport is None or not out:
            return
        size = self._behaviour.split_bytes
        if not size:
            self._transport.write(out)
            return
        for place in range(0, len(out), size):
            self._transport.write(out[place : place + size])

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _hit(every: int, number: int) -> bool:
    return bool(every) and number % every == 0
