"""Serving engines: their defaults and sizing rules by version, from `data/engines/<engine>.json`.

Each setting there is a list of values by version, oldest first, each with its source. A version is
known to have the last value whose `since` is not newer; a version that nobody has read takes the
value of the newest release before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bide.errors import BadInput, UnknownName
from bide.facts.catalogue import table
from bide.i18n import _, cached_by_language
from bide.sourced import Assumption, Source
from bide.units import GIB

PoolRule = Literal["share_of_total", "static_share", "share_of_free"]
"""`share_of_total`: utilisation x card - everything else (vLLM). `static_share`: weights and pool together
have a share of the card (SGLang). `share_of_free`: a share of what is free once the model is loaded
(TensorRT-LLM)."""
BlockRule = Literal["groups", "one_table", "flat"]
"""`groups`: block tables by layer type from one pool (vLLM V1). `one_table`: one table, every layer whole
(vLLM V0). `flat`: pools of token slots (SGLang, TensorRT-LLM)."""
PrintedTokens = Literal["blocks", "concurrency"]
"""What "KV cache size: N tokens" counts: blocks of the first group, or max concurrency x max_model_len."""

SecondRunner = Literal["never", "listed_dense", "listed", "listed_or_dense", "all"]
"""Which models run on vLLM's Model Runner V2: listed families that are dense and not quantised, listed families,
these or any dense model without states, or all."""

_ALIASES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "sgl": "sglang",
    "trtllm": "trtllm",
    "trt-llm": "trtllm",
    "tensorrt-llm": "trtllm",
    "tensorrt_llm": "trtllm",
    "tensorrtllm": "trtllm",
}
ENGINES = ("vllm", "sglang", "trtllm")
_RELEASE = re.compile(r"v?([0-9]{1,6}(?:\.[0-9]{1,6}){0,3})(?:[^0-9].*)?", re.DOTALL)
Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BatchTier:
    """Default batch limits on GPUs with at least `min_memory_bytes` whose name has none of `except_names`."""

    min_memory_bytes: int
    except_names: tuple[str, ...]
    max_num_seqs: int
    max_num_batched_tokens: int


@dataclass(frozen=True, slots=True)
class LatentBlock:
    """Tokens a block of dense MLA on NVIDIA cards of at least this compute capability: the smallest that the kernels
    which vLLM prefers there take, for a cache in 16 bits and for a quantised one."""

    min_capability: float
    tokens: int
    quantised_tokens: int


@dataclass(frozen=True, slots=True)
class StaticShare:
    """How SGLang chooses its share of the card: by rank count, by the card's memory, or by the batch.

    `steps` are (least ranks or GiB, values...), the largest first: the share; GiB of a reserve and of each rank; the
    least GiB of a reserve.
    """

    rule: Literal["by_tp", "by_memory", "by_batch"]
    steps: tuple[tuple[float, ...], ...]

    def step(self, size: float) -> tuple[float, ...]:
        """The values of the first step that `size` reaches."""
        return next(step[1:] for step in self.steps if size >= step[0])


@dataclass(frozen=True, slots=True)
class BlockRules:
    """How the pool becomes blocks, and what the log prints of it."""

    block_rule: BlockRule
    hybrid_manager: bool
    """Local layers free what left their window; without, they are allocated as full attention."""
    larger_group_ratio: float
    """Below this ratio of the commoner to the rarer layer type, groups take the commoner's count."""
    printed_tokens: PrintedTokens
    async_in_flight: bool
    """Local layers reserve for every batch in flight (two with asynchronous scheduling), not for one."""
    state_cache_mode: str
    """How states are kept with prefix caching: `align` (two and the drafts') or `all` (one for each block)."""
    state_checkpoint_blocks: int
    """Mamba-2 states kept besides, with prefix caching, as prefill checkpoints."""
    latent_state_alignment: int
    """Tokens that a block is a multiple of where MLA stands beside states."""


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """Coefficients of one engine from one version on (`memory` in the engine's data file)."""

    sampler_bytes_per_logit: float
    """Of each of max_num_seqs x vocabulary logits, at the peak of a sampling step."""
    held_hidden_copies: float
    """Hidden states of a batch that are held while sampling."""
    forward_hidden_copies: float
    """Hidden states of a batch at the peak of a layer, besides the feed-forward's."""
    expert_workspace_copies: float
    """Workspaces of a batch's routed hidden states that stay allocated."""
    encoder_gib: float
    """Outputs of a vision or audio tower that are held while the text model is profiled."""
    per_layer_copies: float
    """Embeddings that each layer gets of its own, of a batch, that are held."""
    tower_patches_per_token: tuple[tuple[str, int], ...]
    """By the beginning of a family's name: patches that a token of an image stands for, where not 4."""
    tower_item_tokens: tuple[tuple[str, int], ...]
    """By the same: tokens of the largest image or video, where they outgrow a batch."""
    second_runner: SecondRunner
    second_runner_families: tuple[str, ...]
    second_runner_bytes_per_logit: float
    """As `sampler_bytes_per_logit`, with Model Runner V2."""
    second_runner_graphs: bool
    """Whether Model Runner V2 estimates its CUDA graphs."""
    amd_graphs: bool
    """Whether CUDA graphs are estimated on AMD."""
    runtime_gib: float
    runtime_pipeline_gib: float
    """Instead, for a pipeline stage that is one GPU."""
    runtime_linked_gib: float
    """More, with TP over NVLink: communication buffers."""
    runtime_linked_per_rank_gib: float
    runtime_bus_gib: float
    """More, with TP over PCIe."""
    runtime_amd_gib: float
    runtime_unified_gib: float
    """More, where the CPU shares the memory: pages that the system caches while weights are read."""
    graph_first_gib: float
    """Of the first capture."""
    graph_gib: float
    """Of all capture sizes: a constant, and a part for each layer, and for experts."""
    graph_layer_gib: float
    graph_expert_gib: float
    activation_sigma: float
    """Standard deviations: a share of the activations, and GiB of the others."""
    runtime_sigma_gib: float
    linked_sigma_gib: float
    graph_sigma: float
    tower_sigma: float
    unseen_gpu_sigma_gib: float
    """On GPUs that none of the rows came from."""
    unified_sigma_gib: float
    """On GPUs that share their memory with the CPU."""
    seen_gpus: tuple[str, ...] = ()
    rows: str = ""
    """The logs that the coefficients came from."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine at a version, with the defaults and rules that hold there."""

    name: str
    version: Version
    version_text: str
    pool_rule: PoolRule
    gpu_memory_utilization: float | None
    """None: derived from the GPU and the batch limits (SGLang)."""
    block_size: int
    batch_tiers: tuple[BatchTier, ...]
    prefix_caching: bool
    prefix_caching_with_states: bool
    graphs_in_pool_budget: bool
    """Estimated CUDA-graph memory is taken from the pool; otherwise it lies outside the limit."""
    dp_inside_tp: bool
    """Data parallelism divides the attention of the tp GPUs instead of adding GPUs."""
    blocks: BlockRules
    memory: MemoryRules
    """Fitted coefficients of the terms around the pool (`physics.overheads`), with their spread."""
    sources: Mapping[str, Source] = field(hash=False)
    """By setting: where its value was seen."""
    fp8_weights_capability: float | None = None
    """The least compute capability of NVIDIA cards that run fp8 weights; None: not known."""
    fp8_cache_capability: float | None = None
    """The same for an fp8 cache."""
    int8_below_capability: float | None = None
    """NVIDIA cards of less multiply int8 weights by int8 activations; None: not known."""
    starts_unstretched: bool = False
    """Where no longest context is given, that before longrope stretches it is taken."""
    blackwell_capture: int = 512
    """The largest batch whose CUDA graph is captured on compute capability 10; elsewhere 512."""
    latent_blocks: tuple[LatentBlock, ...] = ()
    """Default blocks of dense MLA, the newest cards first; other cards have `block_size`."""
    reserves_output: bool = False
    """A request starts only when the cache of its whole output is free; elsewhere blocks are taken as tokens come."""
    quantised_cache: str | None = None
    """The cache type of checkpoints in fp8 or nvfp4 that this engine's own tools make, where a deployment asks for
    such weights of a model whose config says nothing of it."""
    static_share: StaticShare | None = None
    """SGLang's, where `gpu_memory_utilization` is None."""
    assumptions: tuple[Assumption, ...] = ()

    def batch_tier(self, memory_bytes: int | None, gpu_names: Sequence[str]) -> BatchTier:
        """The default batch limits on a GPU; without one, those of the smallest."""
        names = " ".join(gpu_names).lower()
        for tier in self.batch_tiers:
            big_enough = (memory_bytes or 0) >= tier.min_memory_bytes
            if big_enough and not any(name in names for name in tier.except_names):
                return tier
        return self.batch_tiers[-1]


def parse_version(text: object) -> Version:
    """The release numbers of a version; pre-release, build and commit marks are left out.

    Raises BadInput for what is no version.

    >>> parse_version("0.26.1rc1.dev156+g0eec856cc.d20260731")
    (0, 26, 1)
    """
    match = _RELEASE.fullmatch(text.strip()) if isinstance(text, str) and len(text) <= 100 else None
    if match is None:
        raise BadInput("engine_version", text, _("a version such as 0.19.0 or 0.26.1rc1.dev156"))
    return tuple(int(part) for part in match.group(1).split("."))


def engine(name: str = "vllm", version_text: str | None = None) -> Engine:
    """The engine called `name` at a version; None is the newest known, which is stated as an assumption.

    Raises UnknownName for another engine and BadInput for what is no version.
    """
    canonical = _ALIASES.get(name.strip().lower()) if isinstance(name, str) else None
    if canonical is None:
        raise UnknownName("engine", name, _ALIASES, _("one of {names}").format(names=", ".join(ENGINES)))
    return _engine(canonical, version_text)


@cached_by_language(256)
def _engine(name: str, version_text: str | None) -> Engine:
    facts = table(f"engines/{name}.json")
    newest = facts["newest"]
    text = newest if version_text is None else version_text
    version = parse_version(text)
    chosen = {key: _at(entries, version) for key, entries in facts["settings"].items()}
    values = {key: entry["value"] for key, entry in chosen.items()}
    blocks = {key: values.pop(key) for key in BlockRules.__dataclass_fields__}
    tiers = values.pop("batch_tiers")
    share = values.pop("static_share", None)
    latent = values.pop("latent_blocks", ())
    return Engine(
        name=name,
        version=version,
        version_text=text,
        batch_tiers=tuple(BatchTier(round(gib * GIB), tuple(names), *limits) for gib, names, *limits in tiers),
        dp_inside_tp=facts["dp_inside_tp"],
        blocks=BlockRules(**blocks),
        static_share=StaticShare(**_hashable(share)) if share else None,
        latent_blocks=tuple(LatentBlock(*row) for row in latent),
        memory=_memory(_at(facts["memory"], version)["value"]),
        sources={key: Source(entry["source"], facts["checked"], "config") for key, entry in chosen.items()},
        assumptions=_assumptions(version_text, version, newest),
        **values,
    )


def _memory(values: Mapping[str, Any]) -> MemoryRules:
    return MemoryRules(**_hashable(dict(values)))


def _hashable(value: Any) -> Any:
    """`value` with its lists as tuples."""
    if isinstance(value, dict):
        return {key: _hashable(inner) for key, inner in value.items()}
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _at(entries: Sequence[Mapping[str, Any]], version: Version) -> Mapping[str, Any]:
    """The last of `entries` that is not newer than `version`; the first where all are."""
    known = [entry for entry in entries if parse_version(entry["since"]) <= version]
    return known[-1] if known else entries[0]


def _assumptions(given: str | None, version: Version, newest: str) -> tuple[Assumption, ...]:
    if given is None:
        return (Assumption("engine_version", newest, _("not given: the newest release whose rules are known")),)
    if version > parse_version(newest):
        why = _("{version} is newer than any that was read; the rules of {newest} are used")
        return (Assumption("engine rules", newest, why.format(version=given, newest=newest)),)
    return ()
