"""Whatever stands in a line of a batch, the answer is one object of strict JSON."""

from __future__ import annotations

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from bide.facts.resolving import KEYS
from bide.physics.memory_dict import batch_line

HOSTILE = st.sampled_from(
    [None, True, 0, -1, 3, 8, 10**6, 10**18, 10**400, 0.5, 1e308, math.nan, -math.inf, "", "8k", "\ud800", [], [[]], {}]
)
LINES = st.fixed_dictionaries(
    {"deployment": st.dictionaries(st.sampled_from(KEYS), HOSTILE, max_size=3)},
    optional={"id": HOSTILE, "context_tokens": HOSTILE | st.lists(HOSTILE, max_size=3), "pool_bytes_per_gpu": HOSTILE},
)


@settings(max_examples=300, deadline=None)
@given(LINES, st.booleans())
def test_any_line_is_answered_in_strict_json(line: dict[str, object], named: bool) -> None:
    given_keys = line["deployment"]
    assert isinstance(given_keys, dict)
    base = {"model": "qwen3-8b", "gpu": "h100-sxm"} if named else {}
    answer = batch_line({**line, "deployment": {**base, **given_keys}})
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert ("error" in answer) != ("pool" in answer)
