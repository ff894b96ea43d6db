"""A kernel database's answers, lowered to a StepTable: probe steps at many sizes, and fit the table's terms to them.

With D(n, c) a step that decodes n requests of c tokens each, P(t) one that prefills t tokens alone, and kv(c) the
cache bytes that a request's decoding reads on a GPU:

    D(n, c) = linear(n) + n x sequence + n kv(c) x kv_byte
    P(t)    = linear(t) + sequence + area x t^2 / 2 + prefill_step

Both hold `linear`, so their difference gives the other terms by least squares, whatever linear's shape is. Area
comes first, from what a chunk costs behind a long prefix beyond what it costs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bide.physics.steptime import StepTable, grid
from bide.physics.stepwork import KvRead

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_CONTEXTS = (256, 1024, 4096, 16384)
_MOST_SEQUENCES = 1024
"""Requests of one decode step: the largest max_num_seqs that engines choose by themselves."""
_WIDE_WINDOW = 4096
"""The database takes windows from here on for full attention: what lies beyond them is not asked for."""
_CHUNK = 2048
_PREFIXES = (2048, 8192)
_PROMPT = 512
"""Longer prefills are probed as prompts of this length together, where attention adds little."""
_DECODE_UP_TO, _PREFILL_FROM = 256, 1024
"""Tokens up to which linear(t) is read from decode steps, and from which it is read from prefills."""


class Kernels(Protocol):
    """What a kernel database answers, in milliseconds."""

    def predict_decode_latency(self, bs: int, isl: int, osl: int = 2, /) -> float:
        """A step that decodes `bs` requests of `isl` tokens each."""

    def predict_prefill_latency(self, bs: int, isl: int, prefix: int = 0, /) -> float:
        """A step that prefills `bs` prompts of `isl` tokens, the first `prefix` of which are cached."""


def lower(kernels: Kernels, read: KvRead, most_cache_bytes: float) -> StepTable:
    """The StepTable of `kernels`.

    Decode steps that read more than `most_cache_bytes` on a GPU are not asked for: no card runs them.
    """
    import numpy as np

    tokens = np.unique(np.maximum(np.rint(grid()), 1.0))
    small = tokens[tokens <= _MOST_SEQUENCES]
    area_s = _area_s(kernels)
    prefill_s = _prefill_s(kernels, tokens) - area_s * _pairs(tokens)
    cached = np.array([read.mean_bytes(context, 0) for context in _CONTEXTS])
    widest = min((w.window_tokens for w in read.windows if w.window_tokens >= _WIDE_WINDOW), default=max(_CONTEXTS))
    runs = (small[:, None] * cached <= most_cache_bytes) & (np.array(_CONTEXTS) <= widest)
    runs[:, 0] = True  # each number of sequences is asked for once at least
    decode_s = _decode_s(kernels, small, runs)
    sequence_s, kv_byte_s, step_s = _shared_terms(small, cached, decode_s, prefill_s[: len(small)])
    attended_s = np.nanmean(decode_s - small[:, None] * (sequence_s + cached * kv_byte_s), axis=1)
    linear_s = _joined(tokens, attended_s, prefill_s - step_s - _prompts(tokens) * sequence_s)
    return StepTable(
        linear_s=np.interp(grid(), tokens, _padded(linear_s)),
        per_kv_byte_s=kv_byte_s,
        per_sequence_s=sequence_s,
        per_area_s=area_s,
        fixed_s=0.0,
        prefill_step_s=step_s,
    )


def _area_s(kernels: Kernels) -> float:
    """Seconds of a pair of tokens, from a chunk behind a prefix: chunk x prefix pairs more than alone."""
    alone = kernels.predict_prefill_latency(1, _CHUNK, 0)
    behind = [kernels.predict_prefill_latency(1, _CHUNK + prefix, prefix) for prefix in _PREFIXES]
    each = [(ms - alone) / (_CHUNK * prefix) for ms, prefix in zip(behind, _PREFIXES, strict=True)]
    return max(0.0, sum(each) / len(each) / 1000)


def _prompts(tokens: Floats) -> Floats:
    """Over how many prompts a prefill of `tokens` is spread: one up to _PROMPT tokens, then one for each of them."""
    import numpy as np

    return np.maximum(1.0, np.rint(tokens / _PROMPT))


def _pairs(tokens: Floats) -> Floats:
    """Pairs of a prompt's token and an earlier one in such a prefill: tokens^2 / 2, over its prompts."""
    return tokens**2 / 2 / _prompts(tokens)


def _prefill_s(kernels: Kernels, tokens: Floats) -> Floats:
    """Seconds of prefills of `tokens`; scaled to the token where they do not divide evenly over the prompts."""
    import numpy as np

    found = []
    for count, prompts in zip(tokens, _prompts(tokens), strict=True):
        length = round(count / prompts)
        found.append(kernels.predict_prefill_latency(int(prompts), length, 0) * count / (prompts * length) / 1000)
    return np.array(found)


def _decode_s(kernels: Kernels, sequences: Floats, runs: NDArray[np.bool_]) -> Floats:
    """Seconds of decode steps by sequences (rows) and context (columns); not a number where it is not in `runs`."""
    import numpy as np

    found = np.full(runs.shape, np.nan)
    for row, column in np.argwhere(runs):
        found[row, column] = kernels.predict_decode_latency(int(sequences[row]), _CONTEXTS[column], 2) / 1000
    return found


def _shared_terms(sequences: Floats, cached: Floats, decode_s: Floats, prefill_s: Floats) -> tuple[float, float, float]:
    """Seconds of a sequence, of a cached byte and of a prefill step: least squares on relative errors, none negative.

    D(n, c) - (P(n) - area) = (n - prompts) x sequence + n kv(c) x kv_byte - prefill_step.
    """
    import numpy as np

    known = np.isfinite(decode_s)
    count, each = np.broadcast_arrays(sequences[:, None], cached)
    more = count - _prompts(count)
    rows = np.stack([more, count * each, -np.ones_like(count)], axis=-1)[known] / decode_s[known][:, None]
    wanted = (decode_s - prefill_s[:, None])[known] / decode_s[known]
    found = _least_squares(rows, wanted)
    return float(found[0]), float(found[1]), float(found[2])


def _least_squares(rows: Floats, wanted: Floats) -> Floats:
    """Coefficients of the least squares, those that come out negative left out and the rest solved again."""
    import numpy as np

    scale = np.abs(rows).max(axis=0)
    found, used = np.zeros(rows.shape[1]), np.ones(rows.shape[1], dtype=bool)
    while used.any():
        found[:] = 0.0
        found[used] = np.linalg.lstsq(rows[:, used] / scale[used], wanted, rcond=None)[0] / scale[used]
        if (found >= 0).all():
            break
        used &= found > 0
    return found


def _joined(tokens: Floats, decode_s: Floats, prefill_s: Floats) -> Floats:
    """linear(t): as decode steps have it where they are small, as prefills have it where they are large."""
    import numpy as np

    reach = np.log2(_PREFILL_FROM / _DECODE_UP_TO)
    share = np.clip(np.log2(tokens / _DECODE_UP_TO) / reach, 0.0, 1.0)[: len(decode_s)]
    joined = prefill_s.copy()
    joined[: len(decode_s)] = (1 - share) * decode_s + share * prefill_s[: len(decode_s)]
    return joined


def _padded(linear_s: Floats) -> Floats:
    """No step takes longer than a bigger one: engines pad batches up to sizes that run well."""
    import numpy as np

    return np.maximum(np.minimum.accumulate(linear_s[::-1])[::-1], 0.0)
