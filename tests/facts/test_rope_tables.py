"""How many positions the tables of rotary embeddings cover."""

from __future__ import annotations

import pytest

from bide.facts.hf.fields import Fields
from bide.facts.hf.rope import read_rope_tables
from bide.facts.layers import FullAttention, LatentAttention, SlidingWindow
from bide.facts.model import RopeTable

FULL = FullAttention((0,), 8, 128, 128)
LOCAL = SlidingWindow((1,), 8, 128, 128, window_tokens=1024)


@pytest.mark.parametrize(
    ("scaling", "positions"),
    [
        (None, 131_072),
        ({"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}, 131_072),
        ({"rope_type": "linear", "factor": 8.0}, 8 * 131_072),
        ({"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}, 163_840),
        ({"type": "longrope", "original_max_position_embeddings": 4096}, 131_072 + 4096),
        ({"rope_type": "default", "mrope_section": [11, 11, 10]}, 4 * 131_072),
    ],
)
def test_positions_by_type_of_scaling(scaling: dict[str, object] | None, positions: int) -> None:
    f = Fields({"max_position_embeddings": 131_072, "rope_scaling": scaling})
    assert read_rope_tables(f, (FULL,)) == (RopeTable(positions, 128),)


def test_local_layers_with_a_base_of_their_own_have_a_table_of_their_own() -> None:
    # Gemma 3: linear scaling by 8 on global layers only
    scaling = {"rope_type": "linear", "factor": 8.0}
    f = Fields({"max_position_embeddings": 1000, "rope_scaling": scaling, "rope_local_base_freq": 10_000.0})
    assert read_rope_tables(f, (FULL, LOCAL)) == (RopeTable(8000, 128), RopeTable(1000, 128))


def test_layers_that_rotate_alike_share_a_table() -> None:
    f = Fields({"max_position_embeddings": 1000})
    assert read_rope_tables(f, (FULL, LOCAL)) == (RopeTable(1000, 128),)


def test_partly_rotated_heads_and_latents_have_narrow_tables() -> None:
    f = Fields({"max_position_embeddings": 1000, "partial_rotary_factor": 0.25})
    assert read_rope_tables(f, (FULL,)) == (RopeTable(1000, 32),)
    assert read_rope_tables(f, (LatentAttention((0,), 512, 64),)) == (RopeTable(1000, 64),)


def test_models_without_rotary_positions_have_none() -> None:
    assert read_rope_tables(Fields({"model_type": "gpt2", "n_positions": 1024}), (FULL,)) == ()
