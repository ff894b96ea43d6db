"""Server-sent events out of stamped pieces of a body: bytes in, data out, whatever way they were cut."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST_BYTES = 64 << 20
"""Of what is kept of a body until it can be understood: no answer is so long."""


class EventLines:
    """Collects pieces of a body and yields the data of every whole event.

    Bytes stay bytes, so that a character cut in two is no matter; comments, ids and retry times are
    passed over; lines may be of any length and end in LF or CRLF (WHATWG HTML, "Server-sent events").
    """

    __slots__ = ("_data", "_held_bytes", "_parts")

    def __init__(self) -> None:
        self._held_bytes = 0
        self._parts: list[bytes] = []
        self._data: list[bytes] = []

    @property
    def between(self) -> bool:
        """Whether nothing of an event has come yet."""
        return not self._parts and not self._data

    def take(self, piece: bytes) -> Iterator[bytes]:
        """The data of the events that `piece` completes. Raises ValueError for a line that does not end."""
        self._parts.append(piece)
        if b"\n" not in piece:
            self._held_bytes += len(piece)
            if self._held_bytes > LONGEST_BYTES:
                raise ValueError(f"a line of more than {LONGEST_BYTES >> 20} MiB")
            return
        self._held_bytes = 0
        *lines, rest = b"".join(self._parts).split(b"\n")
        self._parts = [rest] if rest else []
        for line in lines:
            yield from self._line(line.removesuffix(b"\r"))

    def flush(self) -> Iterator[bytes]:
        """The data of an event that the end of the body cut off before its blank line."""
        rest, self._parts = b"".join(self._parts), []
        if rest:
            yield from self._line(rest.removesuffix(b"\r"))
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[bytes]:
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            yield data
