"""A deployment lowered to what one of its GPUs reads, computes and sends in a step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeGuard

from bide.errors import CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.formats import served_scheme
from bide.facts.gpus import Gpu
from bide.facts.layers import (
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    KeyIndex,
    LatentAttention,
    LayerGroup,
    RecurrentState,
    SlidingWindow,
    Window,
)
from bide.facts.model import Model
from bide.facts.quantisation import Quantisation
from bide.i18n import _
from bide.physics.kv import kv_need
from bide.physics.pool import deployment_weights
from bide.physics.reached import on_nvlink
from bide.physics.same import Same, kept
from bide.physics.steptime import Amounts
from bide.physics.weights import Stored, active_fraction, is_read, stored_tensors

Kind = Literal["bf16", "fp8", "fp4"]

_ACTIVATION_BYTES = 2
_SUMS_PER_LAYER = 2
"""All-reduces of tensor parallelism: after attention and after the MLP."""
_MLA_HEAD = (128, 128)
"""Prefill expands a latent into heads with keys of 128, the rope part and values of 128: DeepSeek, Kimi."""
_COMPRESSED_DIM = 512
"""Of a query head, and of a compressed state that is key and value both (vLLM 0.33.0 models/deepseek_v4)."""
_FOUR_BITS = ("mxfp4", "nvfp4", "int4", "awq", "gptq", "bnb")
_SLOWEST_LINK_BYTES_PER_S = 1e9
"""Of a card without a link: its GPUs cannot serve one model together, and nothing is sent."""
_WIDE_TOKENS = 16_384
"""Few prompts outgrow windows and chunks beyond this: their attention is counted by pairs, as of full layers."""
_SPARSE_TOKENS = 2048
"""Tokens that an indexer lets through: `index_topk` of DeepSeek-V3.2 and GLM-5."""


def step_amounts(deployment: Deployment) -> Amounts:
    """Bytes, operations and messages of a step on one GPU of a replica, all its pipeline's stages one after another.

    Bytes and operations are facts; how much of the peaks is reached is not said here. Operations of the
    linear layers: two for each parameter that a token passes through, by the type that is multiplied in.
    Raises CannotBeMet where the deployment names no GPU or the catalogue has no 16-bit peak for it.
    """
    model, gpu = deployment.model, deployment.gpu
    if gpu is None:
        raise CannotBeMet(_("step times need a GPU"))
    stages = deployment_weights(deployment).stages
    moe, tp, groups = model.moe, deployment.attention_tp, _expert_groups(deployment)
    passes, routed_drafts = draft_passes(deployment), any(stage.draft_expert_read_bytes for stage in stages)
    flops = _flops_by_bits(deployment, gpu, groups)
    return Amounts(
        dense_bytes=sum(stage.dense_read_bytes + passes * stage.draft_read_bytes for stage in stages),
        expert_bytes=sum(stage.expert_read_bytes + passes * stage.draft_expert_read_bytes for stage in stages),
        expert_share=moe.experts_per_token / moe.experts if moe else 0.0,
        expert_groups=float(groups),
        flops_16bit=flops[16],
        flops_8bit=flops[8],
        flops_4bit=flops[4],
        head_flops=2 * model.hidden_size * model.vocab_size / tp * (1 + deployment.speculative_tokens + passes),
        pair_flops=_pair_flops(model) / tp,
        kv_byte_flops=_kv_flops(deployment),
        layers=float(model.layer_count + passes),
        moe_layers=float(len(moe.layers) + passes * routed_drafts) if moe else 0.0,
        sum_bytes=_sum_bytes(deployment, gpu),
        exchange_bytes=_exchange_bytes(deployment, gpu, groups),
        tp=float(tp),
        exchange_ranks=float(deployment.gpus_per_stage if groups > 1 else 1),
        nvlink=float(on_nvlink(gpu)),
        eager=float(deployment.enforce_eager),
        peak_16bit=peak_flops(gpu, "bf16"),
        peak_8bit=peak_flops(gpu, "fp8"),
        peak_4bit=peak_flops(gpu, "fp4"),
        bandwidth_bytes_per_s=gpu.bandwidth_bytes_per_s,
        link_bytes_per_s=max(gpu.link_bytes_per_s, _SLOWEST_LINK_BYTES_PER_S),
    )


def draft_passes(deployment: Deployment) -> int:
    """Passes of the model's own draft layers in a step: one for each drafted token; 0 for a drafter apart."""
    return deployment.speculative_tokens if deployment.model.draft_groups else 0


def is_widened(deployment: Deployment, gpu: Gpu) -> bool:
    """Whether most operations are on 4-bit weights that are widened to 16 bits first."""
    dense, routed = _token_flops(Same(deployment.model), Same(served_scheme(deployment.model, deployment.weights)))
    every = [*dense.items(), *routed.items()]
    widened = sum(flops for family, flops in every if family in _FOUR_BITS and _bits(family, gpu) == 16)
    return widened > 0.5 * sum(flops for _family, flops in every)


def _flops_by_bits(deployment: Deployment, gpu: Gpu, groups: int) -> dict[int, float]:
    """Operations of one scheduled token on one GPU, by the width that is multiplied in; windows' attention too."""
    dense, routed = _token_flops(Same(deployment.model), Same(served_scheme(deployment.model, deployment.weights)))
    found = {16: _window_flops(deployment.model) / deployment.attention_tp, 8: 0.0, 4: 0.0}
    for family, flops in dense.items():
        found[_bits(family, gpu)] += flops / deployment.attention_tp
    for family, flops in routed.items():
        found[_bits(family, gpu)] += flops * groups / deployment.gpus_per_stage
    return found


def peak_flops(gpu: Gpu, kind: Kind) -> float:
    """The dense peak in FLOP/s; of the next wider type that the card has where it has none for `kind`.

    Raises CannotBeMet where the catalogue has no 16-bit peak either.
    """
    wider = {
        "fp4": ("fp4", "fp8", "int8", "bf16", "fp16"),
        "fp8": ("fp8", "int8", "bf16", "fp16"),
        "bf16": ("bf16", "fp16"),
    }
    peak = next((gpu.tflops[name] for name in wider[kind] if gpu.tflops.get(name)), None)
    if peak is None:
        raise CannotBeMet(_("no dense 16-bit peak is known for {gpu}, so no step times").format(gpu=gpu.id))
    return peak * 1e12


def _expert_groups(deployment: Deployment) -> int:
    """Data-parallel groups that share one set of experts, rather than each holding its own."""
    return deployment.dp if deployment.model.moe and deployment.dp > 1 else 1


def _sum_bytes(deployment: Deployment, gpu: Gpu) -> float:
    """Vectors that tensor-parallel ranks sum for each token, those over the network as often as it is slower.

    Rings between nodes run over the networks of all GPUs of a node at once.
    """
    model, ranks = deployment.model, deployment.attention_tp
    if ranks == 1:
        return 0.0
    slower = 1.0
    if ranks > gpu.link_domain_gpus and gpu.network_bytes_per_s:
        slower = max(1.0, gpu.link_bytes_per_s / (gpu.network_bytes_per_s * gpu.link_domain_gpus))
    return slower * _SUMS_PER_LAYER * model.layer_count * model.hidden_size * _ACTIVATION_BYTES


def _exchange_bytes(deployment: Deployment, gpu: Gpu, groups: int) -> float:
    """Each token's vector goes to the groups that hold its experts, and comes back from each.

    What leaves the node goes over the GPU's own network, and counts as often as that is slower than the link.
    """
    model, ranks = deployment.model, deployment.gpus_per_stage
    if groups == 1 or model.moe is None:
        return 0.0
    slower = 1.0
    if ranks > gpu.link_domain_gpus and gpu.network_bytes_per_s:
        leaving = 1 - gpu.link_domain_gpus / ranks
        slower += leaving * max(0.0, gpu.link_bytes_per_s / gpu.network_bytes_per_s - 1)
    reached = groups * (1 - (1 - 1 / groups) ** model.moe.experts_per_token) * (groups - 1) / groups
    return 2 * slower * reached * len(model.moe.layers) * model.hidden_size * _ACTIVATION_BYTES


@kept(1024)
def _token_flops(model: Same[Model], scheme: Same[Quantisation | None]) -> tuple[dict[str, float], dict[str, float]]:
    """Two operations for each parameter that a token passes through, head apart, by storage family: dense, routed."""
    dense: dict[str, float] = {}
    routed: dict[str, float] = {}
    for stored in stored_tensors(model.value, scheme.value):
        if stored.tensor.component in ("lm_head", "embedding") or not is_read(model.value, stored.tensor):
            continue
        share = active_fraction(model.value, stored.tensor, 1)
        sums = routed if share < 1 else dense
        family = stored.format.family if stored.format else "plain"
        sums[family] = sums.get(family, 0.0) + 2 * share * _parameters(stored)
    return dense, routed


def _parameters(stored: Stored) -> float:
    return stored.count * stored.tensor.rows * stored.tensor.cols


def _bits(family: str, gpu: Gpu) -> int:
    """The width that a storage family is multiplied in on `gpu`: 16 where only the weights are smaller.

    MXFP4 weights meet 8-bit activations on cards that multiply 4 bits, and 16-bit ones elsewhere.
    """
    if family in ("fp8", "mxfp8", "int8"):
        return 8 if "fp8" in gpu.tflops or (family == "int8" and "int8" in gpu.tflops) else 16
    if "fp4" in gpu.tflops and family in ("nvfp4", "mxfp4"):
        return 4 if family == "nvfp4" else 8
    return 16


def _pair_flops(model: Model) -> float:
    """Scores and weighted values for one pair of tokens: 2 x (K dim + V dim) for each query head and full layer.

    Of compressed layers a pair is a token and a state of several.
    """
    total = 0.0
    for group in model.groups:
        if isinstance(group, FullAttention) or _is_wide(group):
            total += 2.0 * (group.head_dim_k + group.head_dim_v) * len(group.layers)
        elif isinstance(group, LatentAttention):
            total += 2.0 * (sum(_MLA_HEAD) + group.rope_dim) * len(group.layers)
        elif isinstance(group, CompressedAttention) and group.tokens_per_state:
            total += 4.0 * _COMPRESSED_DIM * len(group.layers) / group.tokens_per_state
    return total * model.attention_heads


def _window_flops(model: Model) -> float:
    """The same for layers that see a window or a chunk: for each token a whole window, which is the most there is."""
    total = 0.0
    for group in model.groups:
        if isinstance(group, SlidingWindow | ChunkedAttention) and not _is_wide(group):
            seen = group.window_tokens if isinstance(group, SlidingWindow) else group.chunk_tokens / 2
            total += 2.0 * (group.head_dim_k + group.head_dim_v) * len(group.layers) * seen
        elif isinstance(group, CompressedAttention):
            total += 4.0 * _COMPRESSED_DIM * len(group.layers) * group.window_tokens
    return total * model.attention_heads


def _is_wide(group: LayerGroup) -> TypeGuard[SlidingWindow | ChunkedAttention]:
    """Whether prompts rarely outgrow the window or chunk."""
    if isinstance(group, SlidingWindow):
        return group.window_tokens > _WIDE_TOKENS
    return isinstance(group, ChunkedAttention) and group.chunk_tokens > _WIDE_TOKENS


def _kv_flops(deployment: Deployment) -> float:
    """Operations of decoding for each cache byte of a growing layer: the heads that share it, times two a product.

    An absorbed MLA layer multiplies each cached latent with every query head twice: scores over latent and rope part,
    values over the latent.
    """
    model, tp = deployment.model, deployment.attention_tp
    heads = max(1.0, model.attention_heads / tp)
    flops = 0.0
    for group in model.groups:
        if isinstance(group, FullAttention):
            flops += len(group.layers) * heads * 2.0 * (group.head_dim_k + group.head_dim_v)
        elif isinstance(group, LatentAttention):
            flops += len(group.layers) * heads * 2.0 * (2 * group.latent_dim + group.rope_dim)
        elif isinstance(group, CompressedAttention) and group.tokens_per_state:
            flops += len(group.layers) * heads * 4.0 * _COMPRESSED_DIM / group.tokens_per_state
    growing = kv_need(deployment).per_gpu.growing_bytes_per_token * deployment.pp
    return flops / growing if growing else 0.0


@dataclass(frozen=True, slots=True)
class KvRead:
    """Cache bytes that one running request makes a GPU read in a step, all pipeline stages together."""

    growing_bytes_per_token: float
    windows: tuple[Window, ...]
    fixed_bytes: float

    def mean_bytes(self, prompt_tokens: float, output_tokens: float) -> float:
        """Mean over a request's decode steps: the context grows from the prompt to prompt + output."""
        return self.bytes_at(prompt_tokens + output_tokens / 2)

    def bytes_at(self, context_tokens: float) -> float:
        """With a context of so many tokens."""
        windowed = sum(w.bytes_per_token * min(context_tokens, w.window_tokens) for w in self.windows)
        return self.growing_bytes_per_token * context_tokens + windowed + self.fixed_bytes


def kv_read(deployment: Deployment) -> KvRead:
    """What decoding reads of the cache: all of it, but sparse attention a few tokens, and states twice (and back)."""
    need = kv_need(deployment).per_gpu
    stages = deployment.pp
    windows = tuple(Window(w.window_tokens, w.bytes_per_token * stages) for w in need.windows)
    growing = need.growing_bytes_per_token * stages
    model = deployment.model
    sparse = [g for g in model.groups if isinstance(g, LatentAttention) and g.sparse]
    if sparse:
        indexed = sum(len(g.layers) * g.key_bytes / g.tokens_per_key for g in model.groups if isinstance(g, KeyIndex))
        windows = (*windows, Window(_SPARSE_TOKENS, growing - indexed))
        growing = indexed
    return KvRead(growing, windows, need.fixed_bytes_per_request * stages * _touched(model.groups))


def _touched(groups: Iterable[LayerGroup]) -> float:
    """States are read and written back; what an encoder left is only read."""
    kinds = {type(group) for group in groups}
    return 2.0 if RecurrentState in kinds and CrossAttention not in kinds else 1.0
