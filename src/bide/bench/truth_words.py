"""The bytes of the truth server's answers, in the shapes that real servers give them."""

from __future__ import annotations

import json
from typing import Any

from bide.bench.truth_options import Behaviour

_WORDS = (" the", " of", " and", " to", " in", " is", " that", " for")


def head() -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nserver: truth\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
    )


def chunk(content: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(content), content)


def comment() -> bytes:
    return chunk(b": ping\n\n")


def whole(status: int, content: bytes, kind: str = "application/json", close: bool = False) -> bytes:
    """A response with its length."""
    reason = "OK" if status == 200 else "Error"
    lines = f"HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n"
    return (lines + ("connection: close\r\n" if close else "") + "\r\n").encode() + content


class Speaker:
    """Says one answer, a few events at a time."""

    def __init__(self, behaviour: Behaviour, number: int, chat: bool, asked: dict[str, Any]) -> None:
        self._behaviour, self.number, self._chat = behaviour, number, chat
        wanted = int(asked.get("max_tokens") or asked.get("max_completion_tokens") or 16)
        self._stopped = bool(behaviour.most_tokens) and wanted > behaviour.most_tokens
        self.tokens = behaviour.most_tokens if self._stopped else wanted
        if behaviour.nothing_every and number % behaviour.nothing_every == 0:
            self.tokens = 0
        messages = asked.get("messages") or [{"content": asked.get("prompt", "")}]
        self.prompt = str(messages[0]["content"])
        words = len(self.prompt.split())
        self.prompt_tokens = behaviour.overhead_tokens + round(behaviour.tokens_per_word * words)
        options = asked.get("stream_options") or {}
        self._usage = behaviour.usage and bool(options.get("include_usage"))
        self._counting = behaviour.continuous_usage and bool(options.get("continuous_usage_stats"))
        self.sent = 0

    def role(self) -> bytes:
        if not self._chat:
            return b""
        return self._event(self._said({"role": "assistant", "content": ""}, None))

    def speak(self, events: int) -> bytes:
        """The next tokens, the finish reason with the last."""
        out, behaviour = b"", self._behaviour
        if not self.tokens:
            return self._event(self._said({}, "stop"))
        for _event in range(events):
            if self.sent >= self.tokens:
                break
            count = min(behaviour.tokens_per_chunk, self.tokens - self.sent)
            if behaviour.empty_deltas:
                out += self._event(self._said(self._delta("", 0), None))
            delta = self._delta("".join(self._word(self.sent + place) for place in range(count)), self.sent)
            self.sent += count
            last = self.sent >= self.tokens
            out += self._event(self._said(delta, ("stop" if self._stopped else "length") if last else None))
        return out

    def _word(self, place: int) -> str:
        return self._behaviour.text or _WORDS[place % len(_WORDS)]

    def _delta(self, text: str, place: int) -> dict[str, Any]:
        behaviour = self._behaviour
        if place < behaviour.reasoning_tokens:
            return {behaviour.reasoning_field: text}
        if behaviour.tool_call and text:
            return {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}
        return {"content": text}

    def _said(self, delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        if not self._chat:
            choice = {"index": 0, "text": delta.get("content", ""), "logprobs": None, "finish_reason": finish}
        said = {**self._about(), "choices": [choice]}
        return said | {"usage": self._counts()} if self._counting else said

    def _about(self) -> dict[str, Any]:
        kind = "chat.completion.chunk" if self._chat else "text_completion"
        return {"id": f"truth-{self.number:08x}", "object": kind, "created": 1, "model": "truth"}

    def _counts(self) -> dict[str, Any]:
        counts = {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.sent}
        cached = round(self._behaviour.cached_share * self.prompt_tokens)
        total = {**counts, "total_tokens": self.prompt_tokens + self.sent}
        return total | ({"prompt_tokens_details": {"cached_tokens": cached}} if cached else {})

    def close(self) -> bytes:
        """Usage, [DONE], and the end of the body."""
        usage = self._event({**self._about(), "choices": [], "usage": self._counts()}) if self._usage else b""
        return usage + (self._line(b"[DONE]") if self._behaviour.done else b"") + self.end()

    def error(self) -> bytes:
        said = {"error": {"message": "engine dead", "type": "internal", "code": 500}}
        return self._event(said) + self._line(b"[DONE]") + self.end()

    def end(self) -> bytes:
        return b"0\r\n\r\n"

    def whole(self) -> dict[str, Any]:
        """The answer of a server that does not stream."""
        text = "".join(self._word(place) for place in range(self.tokens))
        self.sent = self.tokens
        message = {"message": {"role": "assistant", "content": text}} if self._chat else {"text": text}
        return {
            **self._about(),
            "choices": [{"index": 0, **message, "finish_reason": "length"}],
            "usage": self._counts(),
        }

    def _event(self, said: dict[str, Any]) -> bytes:
        return self._line(json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode())

    def _line(self, data: bytes) -> bytes:
        return chunk(b"data: " + data + (b"\r\n\r\n" if self._behaviour.crlf else b"\n\n"))
