"""The kernel and the readable reference decide alike, to the bit, on random replicas under pressure."""

from __future__ import annotations

import pytest

from drawn_schedules import compare, draw


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_kernel_and_reference_agree_to_the_bit(first: int) -> None:
    made = [compare(draw(seed), sample_every_s=0.01 if seed % 2 else None) for seed in range(first, first + 20)]
    assert [found.difference for found in made] == [None] * 20
    # The cases are under pressure: some preempt, some find a prefix.
    assert sum(int(found.reference.preemptions.sum()) for found in made) > 0
    assert sum(len(record.hits) for found in made for record in found.records) > 0
