"""Chains of blocks: their size, other sizes, and what they tell of conversations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.workload.blocks import Blocks, block_tokens_of, resized
from bide.workload.prefixes import between_sessions, chains_of_seen, families

LISTS = st.lists(st.lists(st.integers(0, 20), max_size=6), min_size=1, max_size=12)


def shared(blocks: Blocks, one: int, other: int) -> int:
    """Blocks that two chains begin with alike."""
    both = zip(blocks.chain(one).tolist(), blocks.chain(other).tolist(), strict=False)
    return next((n for n, (a, b) in enumerate(both) if a != b), min(blocks.counts[one], blocks.counts[other]))


@given(LISTS, st.data())
def test_taking_requests_keeps_their_chains(chains: list[list[int]], data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, len(chains) - 1), max_size=20))
    taken = Blocks.of(chains, 16).taken(np.array(order, np.int64))
    assert [taken.chain(i).tolist() for i in range(len(taken))] == [chains[i] for i in order]


@given(LISTS)
def test_numbering_keeps_what_is_equal(chains: list[list[int]]) -> None:
    blocks = Blocks.of(chains, 16)
    numbered = blocks.numbered()
    assert len(set(zip(blocks.ids.tolist(), numbered.ids.tolist(), strict=True))) == len(set(blocks.ids.tolist()))
    firsts = list(dict.fromkeys(numbered.ids.tolist()))
    assert firsts == list(range(len(firsts)))


@pytest.mark.parametrize("tokens", [16, 64, 512, 1024])
@pytest.mark.parametrize("full_only", [True, False])
def test_the_size_of_a_block_is_told_from_lengths(tokens: int, full_only: bool) -> None:
    prompt = np.random.default_rng(0).integers(1, 50 * tokens, 200)
    counts = prompt // tokens if full_only else -(-prompt // tokens)
    assert block_tokens_of(prompt, counts) == tokens


def test_chains_that_no_size_explains_have_none() -> None:
    rng = np.random.default_rng(0)
    assert block_tokens_of(rng.integers(1000, 9000, 200), rng.integers(2, 9, 200)) is None


def test_smaller_blocks_share_as_much() -> None:
    # 40 and 70 tokens in blocks of 32, the first block the same; in blocks of 16 two are
    prompt = np.array([40, 70])
    fine = resized(Blocks.of([[0, 1], [0, 2, 3]], 32), prompt, 16)
    assert fine.counts.tolist() == [3, 5]
    assert shared(fine, 0, 1) == 2


def test_larger_blocks_share_only_what_is_whole() -> None:
    # blocks of 16: three shared are one of 32 and half another
    prompt = np.array([64, 64])
    coarse = resized(Blocks.of([[0, 1, 2, 3], [0, 1, 2, 9]], 16), prompt, 32)
    assert coarse.counts.tolist() == [2, 2]
    assert shared(coarse, 0, 1) == 1


def test_sizes_that_do_not_divide_each_other_meet_in_the_middle() -> None:
    # 96 tokens: 2 blocks of 48 are 6 of 16 are 3 of 32; one shared block of 48 is one whole block of 32
    resized_blocks = resized(Blocks.of([[0, 1], [0, 2]], 48), np.array([96, 96]), 32)
    assert resized_blocks.counts.tolist() == [3, 3]
    assert shared(resized_blocks, 0, 1) == 1


def test_a_last_block_that_is_not_full_keeps_its_id_or_has_none() -> None:
    prompt = np.array([50])
    assert resized(Blocks.of([[0, 1, 2, 3]], 16), prompt, 32).counts.tolist() == [2]  # ids for 64 tokens: 50 and a rest
    assert resized(Blocks.of([[0, 1, 2]], 16), prompt, 32).counts.tolist() == [1]  # ids for 48: the rest has none


def test_what_was_seen_before_in_a_session_is_shared() -> None:
    blocks = chains_of_seen(np.array([64, 40, 100]), np.array([0, 0, 50]), np.array([7, 8, 7]), 16)
    assert blocks.counts.tolist() == [4, 2, 6]
    assert shared(blocks, 0, 2) == 3  # 50 tokens are three whole blocks
    assert shared(blocks, 0, 1) == 0


def test_conversations_are_told_from_what_only_they_share() -> None:
    # block 0 begins every prompt; 1 and 2 begin two conversations of 20 turns; the last prompts are alone
    chains = [[0, 1, 100 + i] for i in range(20)] + [[0, 2, 200 + i] for i in range(20)] + [[0], [0, 3]]
    family, common = families(Blocks.of(chains, 16), common_share=0.6)
    assert np.flatnonzero(common).tolist() == [0]
    assert len(set(family[:20])) == len(set(family[20:40])) == 1
    assert len(set(family)) == 4


def test_what_several_sessions_have_is_common_however_often_one_has_it() -> None:
    blocks = Blocks.of([[0, 1], [0, 1], [0, 1, 2], [0, 3], [0, 4]], 16)
    assert np.flatnonzero(between_sessions(blocks, np.array([5, 5, 5, 6, 7]))).tolist() == [0]
