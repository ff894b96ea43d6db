"""What a streamed answer said and when: tokens, their times, usage, how it ended."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

from bide.bench.apportion import apportioned


@dataclass(slots=True)
class Usage:
    """Token counts as the server gave them; None for what it did not say."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(slots=True)
class Answer:
    """Filled by an AnswerReader. Times are nanoseconds of the monotonic clock."""

    chunk_ns: array[int] = field(default_factory=lambda: array("q"))
    """When each chunk that held output came: text, reasoning or a tool call. Role-only and empty ones are none."""
    weights: array[int] = field(default_factory=lambda: array("i"))
    """Bytes of output in each."""
    counted: array[int] = field(default_factory=lambda: array("i"))
    """Output tokens up to and with each, where the server counts as it streams."""
    content_ns: int = 0
    """The first output that is not reasoning; 0 where there was none."""
    finish: str = ""
    finish_ns: int = 0
    """When the event came that said why it ended; 0 where none did."""
    done: bool = False
    error: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def complete(self) -> bool:
        """Whether the stream said that it ended well."""
        return bool(self.finish) or self.done or (self.usage.output_tokens is not None and not self.counted)

    def output_tokens(self) -> int:
        """As the server counts; else as many as chunks with output."""
        counted = self.usage.output_tokens
        return len(self.chunk_ns) if counted is None else counted

    def chunk_tokens(self) -> list[int]:
        """Tokens of each chunk: as counted while streaming, else the total apportioned by bytes."""
        total, chunks = self.output_tokens(), len(self.chunk_ns)
        if chunks and len(self.counted) == chunks and self.counted[-1] == total:
            before = 0
            found = []
            for count in self.counted:
                found.append(count - before)
                before = count
            if found[0] > 0 and min(found) >= 0:
                return found
        return apportioned(self.weights, total)
