"""How the truth server behaves, and every way in which it can misbehave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Times are seconds. Every `..._every` of n does its harm to each n-th request; 0: to none."""

    ttft_s: float = 0.05
    itl_s: float = 0.01
    prefill_s_per_token: float = 0.0
    slots: int = 0
    """Requests answered at once; the others wait. 0: all."""
    role: Literal["none", "with", "early"] = "with"
    """A first chunk that says who speaks: with the first token, or as soon as the request has come."""
    tokens_per_chunk: int = 1
    events_per_write: int = 1
    reasoning_tokens: int = 0
    reasoning_field: str = "reasoning_content"
    tool_call: bool = False
    empty_deltas: bool = False
    """An event without text before every token."""
    usage: bool = True
    continuous_usage: bool = True
    """Take `continuous_usage_stats`."""
    cached_share: float = 0.0
    most_tokens: int = 0
    """Stop (finish_reason stop) after so many, whatever was asked."""
    error_500_every: int = 0
    error_in_stream_every: int = 0
    cut_every: int = 0
    """Close the connection in the middle."""
    silent_end_every: int = 0
    """End the stream in the middle without a finish_reason and without [DONE]."""
    nothing_every: int = 0
    """End well without a token."""
    hang_every: int = 0
    done: bool = True
    comments: bool = False
    crlf: bool = False
    split_bytes: int = 0
    """Cut what is written into pieces of so many bytes, through characters and lines."""
    text: str = ""
    """Said instead of words, once a token."""
    keep_alive: bool = True
    close_kept_after_s: float = 0.0
    """Close a kept connection so long after an answer without having said so; 0: never."""
    stream: bool = True
    refuse_ignore_eos: bool = False
    tokens_per_word: float = 1.0
    overhead_tokens: int = 9
    prefix_cache: bool = False
    """A prompt that was seen before is answered in a tenth of the time."""
    max_model_len: int = 131072
    key: str = ""
    """The bearer token wanted."""
