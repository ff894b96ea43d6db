"""What is run where: a model, a GPU, how it is split, the engine and its knobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bide.facts.engines import Engine
from bide.facts.gpus import Gpu
from bide.facts.model import Model
from bide.sourced import Assumption

SPLIT_KEYS = ("tp", "pp", "dp", "ep")
"""How a model is divided over GPUs."""
FORMAT_KEYS = ("weights", "kv_dtype")
KNOBS = (
    "gpu_memory_utilization",
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "block_size",
    "enforce_eager",
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "speculative_tokens",
)
"""The engine's own settings of which a plan may choose."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """One replica. Build it with `Deployment.resolve(...)`, which checks every field and fills in defaults.

    The replica's GPUs are `tp x pp x dp` in vLLM (in SGLang and TensorRT-LLM dp lies inside tp);
    ep adds none. `assumptions` lists each default that was filled in, `warnings` what is allowed
    but likely a mistake.
    """

    model: Model
    gpu: Gpu | None
    engine: Engine
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    weights: str = "auto"
    kv_dtype: str = "auto"
    gpu_memory_utilization: float = 0.92
    max_model_len: int = 8192
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    block_size: int = 16
    enforce_eager: bool = False
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    speculative_tokens: int = 0
    pool_bytes_per_gpu: int | None = None
    async_scheduling: bool = True
    disable_hybrid_kv_cache_manager: bool = False
    assumptions: tuple[Assumption, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def resolve(cls, raw: Mapping[str, object], *, require_gpu: bool = True) -> Deployment:
        """The deployment that `raw` describes, by the keys above (and `engine_version`, `speculative`).

        A null counts as not given. `model` and `gpu` may be names or values. Without `require_gpu`
        the GPU may be missing even where no pool is given. Raises BadInput naming the first field
        that is unknown, of a wrong type, out of range, or that does not fit the others.
        """
        from bide.facts.resolving import resolve

        return resolve(raw, require_gpu)

    @property
    def replica_gpus(self) -> int:
        """GPUs of the replica."""
        return self.gpus_per_stage * self.pp

    @property
    def attention_tp(self) -> int:
        """How many parts a layer's heads are divided into: tp, or tp / dp where dp lies inside tp.

        In SGLang and TensorRT-LLM data-parallel attention gives each dp group its own requests, and
        divides heads over the tp / dp ranks of the group.
        """
        return max(1, self.tp // self.dp) if self.engine.dp_inside_tp else self.tp

    @property
    def gpus_per_stage(self) -> int:
        """GPUs that share each layer (or, with data parallelism, hold copies of it)."""
        return max(self.tp, self.dp) if self.engine.dp_inside_tp else self.tp * self.dp
