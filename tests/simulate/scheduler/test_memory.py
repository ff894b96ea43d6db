"""The kernel's arrays are large enough: compiled code does not check."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.kernel.run import advance
from bide.simulate.scheduler.layout import new_memory
from drawn_schedules import draw

_NOTHING = (
    np.zeros((0, at.STEP_FIELDS), np.int64),
    np.zeros((0, 2)),
    np.zeros((0, at.LOG_ENTRY_FIELDS), np.int64),
    np.zeros((0, at.SAMPLE_FIELDS)),
)
_BEYOND = 12_345


@pytest.mark.parametrize("first", [0, 50_400])
def test_nothing_is_written_beyond_the_block_tables(first: int) -> None:
    # In case 50,435 drafts that are still to be refused reach past the longest request, into another block.
    for seed in range(first, first + 40):
        case = draw(seed)
        memory = new_memory(case.config, case.cost, case.requests)
        longer = np.concatenate((memory.blocks, np.full(1000, _BEYOND, dtype=np.int32)))
        guarded = replace(memory, blocks=longer[: len(memory.blocks)])
        advance(*guarded.arrays, *_NOTHING, np.inf)
        assert (longer[len(memory.blocks) :] == _BEYOND).all(), seed
