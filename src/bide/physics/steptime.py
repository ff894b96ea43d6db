"""How long one engine step takes, as numbers: the table that simulators read, and a roofline that fills it.

    step = fixed + linear(scheduled tokens) + kv_byte x KV bytes read + sequence x sequences
           + area x prefill attention pairs + prefill_step where the step holds a prefill

Whatever predicts a step (this roofline, a fit to measurements, a kernel database) is lowered to a
StepTable, so that it can change without touching what uses it. Everything here takes one case or,
with one more dimension in front, many at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from bide.physics.reached import Reached

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Numbers = float | Floats
else:
    Numbers = Any

_POINTS_PER_OCTAVE = 3
_OCTAVES = 17
_MOST_BANDWIDTH = 0.95
"""Share that reading ever reaches: copy kernels get 92 to 94 % of HBM3."""
_SMOOTHNESS = 1.5
"""Reading and computing overlap, but not wholly: (reading^1.5 + computing^1.5)^(1/1.5). 1 would be their sum, infinity
the longer of the two; 1.3 to 4 fit the measured points about as well."""


@lru_cache(maxsize=1)
def grid() -> Floats:
    """The scheduled tokens at which every table has a point: 0, 1, three an octave up to 131,072. Read only."""
    import numpy as np

    powers = 2.0 ** (np.arange(_POINTS_PER_OCTAVE * _OCTAVES + 1) / _POINTS_PER_OCTAVE)
    tokens = np.concatenate(([0.0], powers))
    tokens.setflags(write=False)
    return tokens


@dataclass(frozen=True, slots=True, eq=False)
class StepTable:
    """Seconds of a step by what is in it. `linear_s` is given at the tokens of `grid()` and interpolated.

    One table: floats, and `linear_s` of shape [grid]. A stack of n: arrays of shape [n], and [n, grid].
    """

    linear_s: Floats
    per_kv_byte_s: Numbers
    per_sequence_s: Numbers
    per_area_s: Numbers
    """For each pair of a prompt token and an earlier token that it attends to, all layers together."""
    fixed_s: Numbers
    prefill_step_s: Numbers = 0.0
    """More for a step that holds any prefill."""
    separate_prefill: Numbers = 0.0
    """1 where prefills run in steps of their own, which decodes wait for; 0 where they share steps."""

    @property
    def tokens(self) -> Floats:
        return grid()

    def linear(self, tokens: ArrayLike) -> Floats:
        """The linear layers' time for a step of `tokens` (for a stack: [n]); straight on beyond the last point."""
        import numpy as np

        asked = np.asarray(tokens, dtype=np.float64)
        points = grid()
        if self.linear_s.ndim == 1:
            slope = (self.linear_s[-1] - self.linear_s[-2]) / (points[-1] - points[-2])
            beyond = slope * np.maximum(asked - points[-1], 0.0)
            return np.asarray(np.interp(asked, points, self.linear_s) + beyond)
        right = np.minimum(np.maximum(np.searchsorted(points, asked), 1), len(points) - 1)
        before = points[right - 1]
        share = (asked - before) / (points[right] - before)
        flat = right + np.arange(len(self.linear_s)) * len(points)
        low, high = self.linear_s.ravel()[flat - 1], self.linear_s.ravel()[flat]
        return np.asarray(low + share * (high - low))

    def decode_s(self, sequences: ArrayLike, kv_bytes_each: ArrayLike, tokens_each: ArrayLike = 1.0) -> Floats:
        """A step that gives each of `sequences` one token, their caches being `kv_bytes_each` on this GPU.

        `tokens_each` are scheduled for a sequence: one, and drafts. Where fewer than one sequence is
        running on average, there is still one in each step.
        """
        import numpy as np

        count = np.maximum(np.asarray(sequences, dtype=np.float64), 1.0)
        each = np.asarray(kv_bytes_each) * self.per_kv_byte_s + self.per_sequence_s
        return np.asarray(self.fixed_s + self.linear(count * np.asarray(tokens_each)) + count * each)

    def prefill_s(
        self, prompt_tokens: ArrayLike, budget_tokens: ArrayLike, running: ArrayLike = 0.0, together: ArrayLike = 1.0
    ) -> Floats:
        """What a prompt adds to the steps that it shares with `running` decodes (or takes for itself).

        It goes in chunks of at most `budget_tokens`, with those of `together` - 1 other prompts. A shared step grows
        by linear(running + chunks) - linear(running); one of its own takes linear(chunks) and what every step costs.
        """
        import numpy as np

        beside = np.asarray(running, dtype=np.float64)
        size = _chunk_tokens(prompt_tokens, budget_tokens) * np.asarray(together)
        shared = self.linear(beside + size) - self.linear(beside)
        own = self.linear(size) + self.fixed_s
        step_s = np.where(np.asarray(self.separate_prefill) > 0, own, shared)
        return self._prompt_s(prompt_tokens, budget_tokens, step_s, together)

    def burst_s(self, prompt_tokens: ArrayLike, budget_tokens: ArrayLike, together: ArrayLike = 1.0) -> Floats:
        """The same while nothing decodes yet, whichever engine: of prompts that were sent together."""
        import numpy as np

        size = _chunk_tokens(prompt_tokens, budget_tokens) * np.asarray(together)
        return self._prompt_s(prompt_tokens, budget_tokens, self.linear(size) + self.fixed_s, together)

    def _prompt_s(
        self, prompt_tokens: ArrayLike, budget_tokens: ArrayLike, step_s: Floats, together: ArrayLike
    ) -> Floats:
        """A prompt's part of steps that take `step_s` for the chunks of `together` prompts, and what is its own."""
        import numpy as np

        prompt = np.asarray(prompt_tokens, dtype=np.float64)
        steps = chunk_count(prompt, budget_tokens) / np.asarray(together)
        own_s = self.per_sequence_s + prompt**2 / 2 * self.per_area_s
        return np.asarray(steps * (step_s + self.prefill_step_s) + own_s)

    def slowed(self, factor: float) -> StepTable:
        """The same with every time multiplied by `factor`."""
        scaled = {name: getattr(self, name) * factor for name in _TIMES}
        return StepTable(separate_prefill=self.separate_prefill, **scaled)


_TIMES = ("linear_s", "per_kv_byte_s", "per_sequence_s", "per_area_s", "fixed_s", "prefill_step_s")


def stacked(tables: Sequence[StepTable]) -> StepTable:
    """Several tables as one stack, in order."""
    import numpy as np

    return StepTable(*(np.array([getattr(table, field.name) for table in tables]) for field in fields(StepTable)))


def chunk_count(prompt_tokens: ArrayLike, budget_tokens: ArrayLike) -> Floats:
    """Steps that a prompt is spread over: ceil(tokens / budget)."""
    import numpy as np

    chunks = np.ceil(np.asarray(prompt_tokens, dtype=np.float64) / np.asarray(budget_tokens))
    return np.asarray(np.maximum(1.0, chunks))


def _chunk_tokens(prompt_tokens: ArrayLike, budget_tokens: ArrayLike) -> Floats:
    import numpy as np

    return np.asarray(np.asarray(prompt_tokens, dtype=np.float64) / chunk_count(prompt_tokens, budget_tokens))


@dataclass(frozen=True, slots=True)
class Amounts:
    """What one GPU reads, computes and sends in a step, and its peaks: numbers, or arrays for many cases."""

    dense_bytes: Numbers
    expert_bytes: Numbers
    expert_share: Numbers
    """Of a token: experts that it chooses over all; 0 for a dense model."""
    expert_groups: Numbers
    flops_16bit: Numbers
    """For each scheduled token; the same for 8 and 4 bits."""
    flops_8bit: Numbers
    flops_4bit: Numbers
    head_flops: Numbers
    pair_flops: Numbers
    kv_byte_flops: Numbers
    layers: Numbers
    moe_layers: Numbers
    sum_bytes: Numbers
    """For each token, before the algorithm's factor."""
    exchange_bytes: Numbers
    tp: Numbers
    exchange_ranks: Numbers
    nvlink: Numbers
    """1 where latencies grow with the logarithm of the ranks, 0 where with their number."""
    eager: Numbers
    """1 where decode steps too run without CUDA graphs."""
    peak_16bit: Numbers
    peak_8bit: Numbers
    peak_4bit: Numbers
    bandwidth_bytes_per_s: Numbers
    link_bytes_per_s: Numbers

    def weight_bytes(self, tokens: Numbers) -> Numbers:
        """Weights read in a step of `tokens` in each data-parallel group."""
        return self.dense_bytes + self.expert_bytes * chosen_share(self.expert_share, tokens * self.expert_groups)


@dataclass(frozen=True, slots=True)
class Rates:
    """Seconds for what a step is made of: `Amounts` at the speeds that `Reached` says."""

    weight_byte_s: Numbers
    expert_byte_s: Numbers
    token_s: Numbers
    """Computing one scheduled token."""
    sent_token_s: Numbers
    kv_byte_s: Numbers
    head_s: Numbers
    """The output head for one sequence."""
    pair_s: Numbers
    launch_s: Numbers
    """Fixed for a step and its layers."""
    sums_s: Numbers
    """Latency of all collectives of a step."""


def rates(amounts: Amounts, reached: Reached) -> Rates:
    """Speeds are peak x share, no more than the peak.

    All-reduce: a ring sends 2 (n - 1) / n of the data; its latency grows with log2(n) at most over NVLink (trees; less
    with multicast) and with n - 1 hops over PCIe. An exchange of tokens between expert ranks costs two latencies a
    layer, and its data.
    """
    import numpy as np

    share = np.minimum(reached.bandwidth * reached.bandwidth_of, _MOST_BANDWIDTH)
    speed = amounts.bandwidth_bytes_per_s * share
    compute = np.minimum(reached.compute * reached.compute_of, 1.0)
    token_s = (
        amounts.flops_16bit / (amounts.peak_16bit * compute * reached.compute_widened)
        + amounts.flops_8bit / (amounts.peak_8bit * np.minimum(compute * reached.compute_8bit, 1.0))
        + amounts.flops_4bit / (amounts.peak_4bit * np.minimum(compute * reached.compute_4bit, 1.0))
    )
    ring = 2 * (amounts.tp - 1) / amounts.tp
    link = amounts.link_bytes_per_s * reached.link
    doublings = np.log2(amounts.tp)
    fast_hops = np.minimum(doublings, 1 + reached.sum_growth * (doublings - 1))
    hops = np.where(np.asarray(amounts.nvlink) > 0, np.maximum(fast_hops, 0.0), amounts.tp - 1)
    exchanges = np.where(np.asarray(amounts.exchange_ranks) > 1, 2 * amounts.moe_layers * reached.exchange, 0.0)
    kv_byte_s = 1 / (amounts.bandwidth_bytes_per_s * np.minimum(share * reached.kv, 1.0))
    latent_s = amounts.kv_byte_flops / (amounts.peak_16bit * reached.latent_attention)
    layer_s = reached.layer_s * reached.layer_of + amounts.eager * reached.prefill_layer_s
    moe_layer_s = reached.moe_layer_s * reached.layer_of
    return Rates(
        weight_byte_s=1 / speed,
        expert_byte_s=1 / (speed * reached.experts),
        token_s=token_s * reached.imbalance,
        sent_token_s=(amounts.sum_bytes * ring + amounts.exchange_bytes) / link,
        kv_byte_s=np.maximum(kv_byte_s, latent_s),
        head_s=amounts.head_flops / (amounts.peak_16bit * compute),
        pair_s=amounts.pair_flops / (amounts.peak_16bit * reached.attention),
        launch_s=reached.fixed_s + layer_s * amounts.layers + moe_layer_s * amounts.moe_layers,
        sums_s=(2 * amounts.layers * hops + exchanges) * reached.sum_s,
    )


def roofline(amounts: Amounts, reached: Reached) -> StepTable:
    """The table of one case (floats), or of many (arrays of shape [n])."""
    import numpy as np

    rate = rates(amounts, reached)
    many = np.ndim(rate.weight_byte_s) > 0
    tokens = grid()[None, :] if many else grid()

    def wide(value: Numbers) -> Numbers:
        return np.asarray(value)[:, None] if many and np.ndim(value) > 0 else value

    choosing = (np.maximum(tokens, 1.0) * wide(amounts.expert_groups)) ** wide(reached.draws)
    experts = 1 - (1 - np.asarray(wide(amounts.expert_share))) ** choosing
    reading_s = (
        wide(amounts.dense_bytes * rate.weight_byte_s) + wide(amounts.expert_bytes * rate.expert_byte_s) * experts
    )
    computing_s = tokens * wide(rate.token_s)
    return StepTable(
        linear_s=overlapped(reading_s, computing_s) + tokens * wide(rate.sent_token_s),
        per_kv_byte_s=rate.kv_byte_s,
        per_sequence_s=reached.sequence_s + rate.head_s,
        per_area_s=rate.pair_s,
        fixed_s=rate.launch_s + rate.sums_s,
        prefill_step_s=reached.prefill_layer_s * (1 - np.asarray(amounts.eager)) * amounts.layers,
        separate_prefill=reached.separate_prefill,
    )


def chosen_share(share_of_token: Numbers, tokens: Numbers) -> Numbers:
    """Experts that some of `tokens` chooses, over all of them: 1 - (1 - k/E)^tokens.

    >>> round(float(chosen_share(8 / 128, 16)), 3)
    0.644
    """
    import numpy as np

    return np.asarray(1 - (1 - np.asarray(share_of_token)) ** tokens)


def overlapped(reading_s: Numbers, computing_s: Numbers) -> Numbers:
    """Two times that overlap in part: no less than the longer, no more than the sum."""
    import numpy as np

    together = np.asarray(reading_s) ** _SMOOTHNESS + np.asarray(computing_s) ** _SMOOTHNESS
    return np.asarray(together ** (1 / _SMOOTHNESS))


def overlap_shares(reading_s: Numbers, computing_s: Numbers) -> Floats:
    """How much of `overlapped` is put down to reading; the rest is computing's."""
    import numpy as np

    reading = np.asarray(reading_s) ** _SMOOTHNESS
    return np.asarray(reading / (reading + np.asarray(computing_s) ** _SMOOTHNESS))
