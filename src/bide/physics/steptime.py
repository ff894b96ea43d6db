"""How long one engine step takes, as numbers: the table that simulators read, and a roofline that fills it.

    step = fixed + linear(scheduled tokens) + kv_byte x KV bytes read + sequence x sequences
           + area x prefill attention pairs

Whatever predicts a step (this roofline, a fit to measurements, a kernel database) is lowered to a
StepTable, so that it can change without touching what uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bide.i18n import _
from bide.physics.weights import distinct_experts
from bide.sourced import Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class StepTable:
    """Seconds of a step by what is in it. `tokens` increases; `linear_s` is interpolated between its points."""

    tokens: Floats
    linear_s: Floats
    per_kv_byte_s: float
    per_sequence_s: float
    per_area_s: float
    """For each pair of a prompt token and an earlier token that it attends to, all layers together."""
    fixed_s: float

    def linear(self, tokens: ArrayLike) -> Floats:
        """The linear layers' time for a step of `tokens`; straight on beyond the last point, flat below the first."""
        import numpy as np

        asked = np.asarray(tokens, dtype=np.float64)
        slope = (self.linear_s[-1] - self.linear_s[-2]) / (self.tokens[-1] - self.tokens[-2])
        beyond = np.maximum(asked - self.tokens[-1], 0.0) * slope
        return np.asarray(np.interp(asked, self.tokens, self.linear_s) + beyond)

    def decode_s(self, sequences: ArrayLike, kv_bytes_each: float) -> Floats:
        """A step that gives each of `sequences` one token, their caches being `kv_bytes_each` on this GPU.

        Where fewer than one is running on average, there is still one in each step.
        """
        import numpy as np

        count = np.asarray(sequences, dtype=np.float64)
        each = kv_bytes_each * self.per_kv_byte_s + self.per_sequence_s
        return np.asarray(self.fixed_s + self.linear(np.maximum(count, 1.0)) + count * each)

    def prefill_s(self, prompt_tokens: ArrayLike, budget_tokens: int, running: float = 0.0) -> Floats:
        """What a prompt adds to the steps that it shares with `running` decodes.

        It goes in chunks of at most `budget_tokens`; a chunk adds linear(running + chunk) -
        linear(running). The larger of that and of the same beside an empty batch is taken, which
        keeps it from falling as the batch grows (mixtures of experts would let it).
        """
        import numpy as np

        prompt = np.asarray(prompt_tokens, dtype=np.float64)
        chunks = chunk_count(prompt, budget_tokens)
        size = prompt / chunks
        beside = self.linear(running + size) - self.linear(running)
        alone = self.linear(size) - self.linear(0.0)
        return np.asarray(chunks * np.maximum(beside, alone) + prompt**2 / 2 * self.per_area_s)


def chunk_count(prompt_tokens: ArrayLike, budget_tokens: int) -> Floats:
    """Steps that a prompt is spread over: ceil(tokens / budget)."""
    import numpy as np

    return np.asarray(np.maximum(1.0, np.ceil(np.asarray(prompt_tokens, dtype=np.float64) / budget_tokens)))


@dataclass(frozen=True, slots=True)
class StepWork:
    """What one GPU of a replica reads and computes in a step: bytes, operations, and the card's peaks."""

    dense_bytes: float
    """Weights that every step reads."""
    expert_bytes: float
    """All routed experts' weights together; a step reads those that its tokens choose."""
    experts: int
    experts_per_token: int
    flops_per_token: float
    flops_per_sequence: float
    """The output head, which only the last token of each sequence goes through."""
    flops_per_pair: float
    """Attention of one prompt token to one earlier token, all full-attention layers."""
    layers: int
    link_bytes_per_token: float
    """Sent by each GPU for tensor parallelism's sums; 0 on one GPU."""
    bandwidth_bytes_per_s: float
    peak_flops: float
    link_bytes_per_s: float

    def weight_bytes(self, tokens: float) -> float:
        """Weights read in a step of `tokens`: of the experts those that some token chooses."""
        if not self.experts:
            return self.dense_bytes
        chosen = distinct_experts(self.experts, self.experts_per_token, tokens)
        return self.dense_bytes + self.expert_bytes * chosen / self.experts


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """How much of the card's peaks is reached, and what a step costs beyond them."""

    bandwidth: float
    compute: float
    layer_s: float
    """Launch and synchronisation, for each layer."""
    parallel_layer_s: float
    """More of the same for each layer with tensor parallelism (two sums)."""
    sequence_s: float
    """Scheduling, sampling and detokenising, for each running sequence."""
    request_s: float
    """Outside the steps: HTTP, tokenising and the first delivery of a request."""


# Public measurements at batch 1, TPOT / (weights / TP / bandwidth) for 7-8B 16-bit models on one GPU: 1.2 (L4, RTX
# 5090), 1.35 (RTX 4090, A6000), 1.4-1.6 (A100), 1.75 (H100), 2.0 (MI300X), 2.0-2.4 (H200); 2.7 and 4.5 on 2 and 4
# H100s. LIKELY gives 1.2, 1.3, 1.45, 1.7, 2.0 and 1.9, and 2.7 and 4.2, for them. Prefill reaches 52-59 % of the dense
# 16-bit peak on H100, 62-72 % on A100, 61-68 % on GH200, about 30 % on L40S; TTFT of short prompts is 20-50 ms.
LIKELY = Efficiencies(0.83, 0.55, 80e-6, 35e-6, 8e-6, 0.020)
FAST = Efficiencies(0.92, 0.70, 30e-6, 20e-6, 2e-6, 0.005)
SLOW = Efficiencies(0.70, 0.30, 130e-6, 70e-6, 20e-6, 0.050)


def assumed() -> tuple[Assumption, ...]:
    """The efficiencies as assumptions: likely value, and the range that the intervals come from."""
    share, micro, milli = (
        _("{0:.0%} ({1:.0%} to {2:.0%})"),
        _("{0:.0f} us ({1:.0f} to {2:.0f})"),
        _("{0:.0f} ms ({1:.0f} to {2:.0f})"),
    )
    rows = (
        (
            _("memory bandwidth reached"),
            "bandwidth",
            share,
            1,
            _("decode of 7-8B models on eight GPUs, public measurements"),
        ),
        (
            _("compute peak reached"),
            "compute",
            share,
            1,
            _("prefill on H100, A100, GH200 and L40S, public measurements"),
        ),
        (_("overhead of a layer"), "layer_s", micro, 1e6, _("what those decodes took beyond reading the weights")),
        (
            _("tensor parallelism adds to a layer"),
            "parallel_layer_s",
            micro,
            1e6,
            _("8B on 2 and 4 H100s"),
        ),
        (_("overhead of a running request"), "sequence_s", micro, 1e6, _("scheduling and sampling; a guess")),
        (_("overhead of a request"), "request_s", milli, 1e3, _("the floor under measured TTFTs of short prompts")),
    )
    return tuple(
        Assumption(name, form.format(*(getattr(end, field) * scale for end in (LIKELY, *_ordered(field)))), why)
        for name, field, form, scale, why in rows
    )


def _ordered(field: str) -> tuple[Efficiencies, Efficiencies]:
    """FAST and SLOW, the one with the smaller `field` first."""
    return (FAST, SLOW) if getattr(FAST, field) < getattr(SLOW, field) else (SLOW, FAST)


def roofline(work: StepWork, reached: Efficiencies, largest_step_tokens: int) -> StepTable:
    """Linear layers: the longer of reading the weights and computing, plus the sums over the link.

    Points at 0 and every power of two up to `largest_step_tokens`, and where reading and computing take equally long.
    """
    import numpy as np

    bandwidth = work.bandwidth_bytes_per_s * reached.bandwidth
    flops = work.peak_flops * reached.compute
    ridge = work.weight_bytes(1e9) / bandwidth * flops / work.flops_per_token
    top = max(2 * largest_step_tokens, 2)
    powers = [0.0, *(2.0**n for n in range(top.bit_length()))]
    tokens = np.unique([*powers, *([ridge] if 1 < ridge < powers[-1] else [])])
    reading = np.array([work.weight_bytes(count) for count in tokens]) / bandwidth
    linear_s = np.maximum(reading, tokens * work.flops_per_token / flops)
    linear_s += tokens * work.link_bytes_per_token / work.link_bytes_per_s
    parallel_s = reached.parallel_layer_s if work.link_bytes_per_token else 0.0
    return StepTable(
        tokens,
        linear_s,
        per_kv_byte_s=1 / bandwidth,
        per_sequence_s=reached.sequence_s + work.flops_per_sequence / flops,
        per_area_s=work.flops_per_pair / flops,
        fixed_s=work.layers * (reached.layer_s + parallel_s),
    )
