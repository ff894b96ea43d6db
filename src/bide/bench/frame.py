"""What surrounds the text in the events of one stream, so that an event like the others is not parsed again.

Most events of a stream differ in nothing but their text: same identity, same fields, one HTTP chunk each. Taking a
run of them apart with operations on bytes costs a tenth of parsing each, and is as exact: a chunk counts as alike only
where its size, everything before the text and everything after it are what they must be.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub

_ENDS = (b"}\n\n", b"}\r\n\r\n")


class Frame:
    """`before` and `after` the text of an event; `after` ends with the end of the event and of its HTTP chunk."""

    __slots__ = ("_after", "_heads", "_other_heads", "_tail")

    def __init__(self, before: bytes, after: bytes) -> None:
        self._after, self._tail = after, len(after)
        self._heads, self._other_heads = (_Heads(size, before, len(after)) for size in (b"%x", b"%X"))

    @classmethod
    def around(cls, text: str, event: bytes) -> Frame | None:
        """Of an event, its blank line included, that holds `text` once and plainly; None where it does not."""
        raw = text.encode("utf-8", "replace")
        if not raw or not _plain(raw) or event.count(b"\n") != 2 or not event.endswith(_ENDS):
            return None
        quoted = b'"' + raw + b'"'
        if event.count(quoted) != 1:
            return None
        before, after = event.split(quoted)
        return cls(before + b'"', b'"' + after + b"\r\n")

    def ends_in(self, piece: bytes, offset: int) -> bool:
        """Whether a chunk like the others may end in `piece`, from byte `offset` on."""
        return piece.find(self._after, offset) >= 0

    def run(self, content: bytes) -> tuple[list[int], list[int]]:
        """Of the chunks that `content` begins with, as far as they are alike: bytes of text, and of the whole chunk."""
        chunks = content.split(self._after)
        del chunks[-1]
        if not chunks[0].startswith(self._heads[len(chunks[0])]):
            self._heads, self._other_heads = self._other_heads, self._heads
        lengths = list(map(len, chunks))
        heads = list(map(self._heads.__getitem__, lengths))
        texts = list(map(sub, lengths, map(len, heads)))
        alike = all(map(bytes.startswith, chunks, heads)) and min(texts) > 0
        if not alike or not _plain(b"".join(map(bytes.removeprefix, chunks, heads))):
            del texts[self._alike(chunks, heads) :]
        return texts, [length + self._tail for length in lengths[: len(texts)]]

    @staticmethod
    def _alike(chunks: Sequence[bytes], heads: Sequence[bytes]) -> int:
        """How many from the first on have the right head and then a text."""
        for place, (chunk, head) in enumerate(zip(chunks, heads, strict=True)):
            text = chunk.removeprefix(head)
            if not text or len(text) == len(chunk) or not _plain(text):
                return place
        return len(chunks)


class _Heads(dict[int, bytes]):
    """How a chunk begins, for its length without what comes after the text.

    Its size is hex: most servers write a to f, Rust's hyper A to F.
    """

    def __init__(self, size: bytes, before: bytes, tail: int) -> None:
        self._size, self._before, self._framing = size, b"\r\n" + before, tail - len(b"\r\n\r\n")

    def __missing__(self, length: int) -> bytes:
        framed = length + self._framing
        digits = next(n for n in range(1, 9) if framed - n < 16**n)
        found = self[length] = self._size % max(0, framed - digits) + self._before
        return found


def _plain(text: bytes) -> bool:
    return b'"' not in text and b"\\" not in text and b"\n" not in text
