"""What a column means, told from its name.

A role is one of time, prompt, output, blocks, session, think, cached, id and parent. Names are compared
without case and punctuation, so that `Request tokens`, `request_tokens` and `requestTokens` are one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

NAMES: Mapping[str, tuple[str, ...]] = {
    "time": (
        "arrival_s",
        "arrived_at",
        "arrival_time",
        "start_time",
        "request_time",
        "request_start_time",
        "timestamp",
        "@timestamp",
        "ts",
        "time",
        "timestamp_start_unix_ms",
        "relative_timestamp_ms",
        "timestamp_ms",
        "created_at",
        "created",
        "datetime",
        "time_local",
        "time_iso8601",
    ),
    "prompt": (
        "prompt_tokens",
        "input_tokens",
        "input_length",
        "context_tokens",
        "request_tokens",
        "input_tokens_total",
        "num_prefill_tokens",
        "num_prompt_tokens",
        "prompt_token_count",
        "prompt_length",
        "prompt_len",
        "input_len",
        "il",
        "isl",
    ),
    "output": (
        "completion_tokens",
        "output_tokens",
        "output_length",
        "generated_tokens",
        "response_tokens",
        "num_decode_tokens",
        "num_generation_tokens",
        "num_output_tokens",
        "candidates_token_count",
        "generation_tokens",
        "completion_length",
        "completion_len",
        "output_len",
        "ol",
        "osl",
    ),
    "blocks": ("hash_ids", "block_hashes", "block_ids", "total_hashes", "bh"),
    "session": ("session_id", "conversation_id", "session", "conversation", "thread_id", "litellm_session_id"),
    "think": ("think_s", "think_time"),
    "cached": ("cached_tokens", "cache_read_input_tokens", "prefix_tokens", "cached"),
    "id": ("request_id", "chat_id", "id"),
    "parent": ("parent_chat_id", "parent_id"),
}
"""Of each role the names that are known, the surest first."""
NEEDED = ("prompt", "output")
_DEPTH_OF_ID = 1


def plain(name: str) -> str:
    """`Request tokens` -> `requesttokens`."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def candidates(role: str, columns: Iterable[str]) -> list[str]:
    """The columns that may play a role, the surest first: by the order of names, then the least nested.

    Columns are names or dotted paths, of which the last part counts. The id of a request stands at the top
    of its record: deeper ones are of other things.
    """
    rank = {plain(name): number for number, name in reversed(list(enumerate(NAMES[role])))}
    found = [
        (rank[plain(last)], path.count("."), path) for path in columns if plain(last := path.split(".")[-1]) in rank
    ]
    if role in ("id", "parent"):
        found = [each for each in found if each[1] < _DEPTH_OF_ID]
    return [path for _rank, _depth, path in sorted(found)]


def covering(paths: Sequence[str], present: Sequence[set[str]]) -> list[str]:
    """The fewest first paths of which every record that has any has one: logs mix two kinds of records.

    >>> covering(["a", "b", "c"], [{"a", "c"}, {"b"}, set()])
    ['a', 'b']
    """
    chosen: list[str] = []
    left = [there for there in present if there & set(paths)]
    for path in paths:
        if any(path in there for there in left):
            chosen.append(path)
            left = [there for there in left if path not in there]
    return chosen or list(paths[:1])
