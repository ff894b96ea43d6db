"""What a prefix cache finds: worked by hand, and against a plain cache."""

from __future__ import annotations

import gzip
import json
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.workload.blocks import Blocks
from bide.workload.measuring.reuse import reuse

DATA = Path(__file__).parent / "data"


def found_by_plain_cache(chains: list[list[int]], tokens: list[int], block: int, blocks_held: int) -> int:
    """Tokens found in a cache of blocks that evicts the least recently used, the end of a chain first."""
    held: OrderedDict[int, None] = OrderedDict()
    found = 0
    for chain, prompt in zip(chains, tokens, strict=True):
        for place, block_id in enumerate(chain):
            if block_id not in held:
                break
            found += min(block, prompt - place * block)
        for block_id in reversed(chain):
            held[block_id] = None
            held.move_to_end(block_id)
        while len(held) > blocks_held:
            held.popitem(last=False)
    return found


def test_by_hand() -> None:
    # A (2 blocks), B (2), A: the second A comes back after four different blocks; 64 of 96 + 32 tokens... of 192 in all
    blocks = Blocks.of([[0, 1], [2, 3], [0, 1]], 16)
    prompts = np.array([32, 32, 32])
    measured = reuse(blocks, prompts, (16, 48, 64))
    assert measured is not None
    # to find A's two blocks the cache must hold them and B's two: 64 tokens; with 48 the end of A is gone
    assert measured.by_size == ((16, 0.0), (48, pytest.approx(16 / 96)), (64, pytest.approx(32 / 96)))
    assert (measured.unlimited, measured.needed_tokens) == (pytest.approx(32 / 96), 64)


def test_a_rest_counts_with_its_own_tokens() -> None:
    measured = reuse(Blocks.of([[0, 1], [0, 1]], 16), np.array([20, 20]))
    assert measured is not None
    assert measured.unlimited == pytest.approx(20 / 40)


@st.composite
def prefix_trees(draw: st.DrawFn) -> list[list[int]]:
    """Prompts that begin like earlier ones for a while: an id is never at two places."""
    chains: list[list[int]] = [[0]]
    fresh = 1
    for _request in range(draw(st.integers(1, 25))):
        base = draw(st.sampled_from(chains))
        kept, new = draw(st.integers(0, len(base))), draw(st.integers(0, 4))
        chains.append(base[:kept] + list(range(fresh, fresh + new)))
        fresh += new
    return chains


@given(prefix_trees(), st.integers(1, 30))
def test_the_curve_is_what_a_plain_cache_of_each_size_finds(chains: list[list[int]], held: int) -> None:
    prompts = [16 * len(chain) for chain in chains]
    measured = reuse(Blocks.of(chains, 16), np.maximum(1, prompts), (16 * held,))
    assert measured is not None
    total = sum(max(1, prompt) for prompt in prompts)
    assert measured.by_size[0][1] * total == pytest.approx(found_by_plain_cache(chains, prompts, 16, held))


def test_a_real_trace_against_a_plain_cache() -> None:
    lines = gzip.decompress((DATA / "mooncake-conversation-head.jsonl.gz").read_bytes()).splitlines()
    records = [json.loads(line) for line in lines]
    chains = [record["hash_ids"] for record in records]
    prompts = [record["input_length"] for record in records]
    measured = reuse(Blocks.of(chains, 512), np.array(prompts), (512 * 500, 512 * 3000))
    assert measured is not None
    for size, share in measured.by_size:
        assert share * sum(prompts) == pytest.approx(found_by_plain_cache(chains, prompts, 512, size // 512))
    assert measured.unlimited * sum(prompts) == pytest.approx(227_328)  # counted with a set in plain Python


def test_without_blocks_there_is_nothing_to_say() -> None:
    assert reuse(Blocks.of([[], []], 16), np.array([5, 6])) is None
