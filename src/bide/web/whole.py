"""Answers that are changed as a whole: held until they are complete. All others pass as they come, as events do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Message, Send

Header = tuple[bytes, bytes]


class Whole:
    """A `send` that holds the answers whose beginning is `wanted`, and sends what `changed` makes of them."""

    def __init__(
        self, send: Send, wanted: Callable[[Message], bool], changed: Callable[[Message, bytes], Iterable[Message]]
    ) -> None:
        self._send, self._wanted, self._changed = send, wanted, changed
        self._begun: Message | None = None
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and self._wanted(message):
            self._begun = message
        elif self._begun is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                for part in self._changed(self._begun, bytes(self._body)):
                    await self._send(part)


def headers_of(begun: Message) -> dict[bytes, bytes]:
    """Of an answer's beginning, by their names in small letters."""
    return {name.lower(): value for name, value in begun.get("headers", ())}


def with_body(begun: Message, body: bytes, headers: Iterable[Header] = ()) -> tuple[Message, Message]:
    """The answer with another body, its length, and `headers` in the place of those of the same names."""
    changed = [*headers, (b"content-length", str(len(body)).encode())]
    names = {name for name, _value in changed}
    kept = [item for item in begun.get("headers", ()) if item[0].lower() not in names]
    return {**begun, "headers": [*kept, *changed]}, {"type": "http.response.body", "body": body}
