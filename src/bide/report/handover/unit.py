"""One fleet of like replicas, as the manifests need it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from bide.facts.deployment import Deployment
from bide.facts.gpus import Gpu
from bide.plan.flags import nodes_of, serving
from bide.plan.pooled_flags import role_serving
from bide.plan.serving.command import Command
from bide.plan.serving.transfer import SIDE_CHANNEL_PORT, Role
from bide.plan.thresholds import Thresholds
from bide.report.handover.accelerator import Accelerator, accelerator_of

PORT = 8000
PORT_NAME = "http"
HEALTH = "/health"
"""vLLM, SGLang and trtllm-serve all have it; the port opens when the model is loaded."""
TOKEN_SECRET, TOKEN_KEY = "hf-token", "HF_TOKEN"

LOAD_BYTES_PER_S = 0.25e9
"""Assumed, of downloading weights: 2 Gbit/s."""
ENGINE_START_S = 180.0
"""Assumed: processes, profiling, compiling and CUDA graphs."""
START_ALLOWANCE = 2.0
"""A start may take so many times what is assumed before it counts as failed."""
_IMAGES = {
    ("vllm", "nvidia"): "vllm/vllm-openai:v{version}",
    ("vllm", "amd"): "vllm/vllm-openai-rocm:v{version}",
    ("sglang", "nvidia"): "lmsysorg/sglang:v{version}",
    ("trtllm", "nvidia"): "nvcr.io/nvidia/tensorrt-llm/release:{version}",
}


@dataclass(frozen=True, eq=False)
class Unit:
    """A fleet of replicas of one deployment on one kind of GPU."""

    name: str
    """A Kubernetes name."""
    service: str
    deployment: Deployment
    gpu: Gpu
    needed: int
    """Replicas that the load needs."""
    spare: int
    """More, for failures."""
    rolling: int
    """More, that may be out of service during an update."""
    weights_bytes: int
    """Of a replica."""
    scale_up_s: float
    promises: tuple[str, ...] = ()
    """Sentences on what was planned, for the comments."""
    thresholds: Thresholds | None = None
    role: Role | None = None
    """What its replicas do of a request, where they do not do all of it."""
    partner: Unit | None = None
    """Of replicas that answer, those that compute their prompts."""

    @property
    def replicas(self) -> int:
        return self.needed + self.spare + self.rolling

    @property
    def gpus(self) -> int:
        """Of a replica."""
        return self.deployment.replica_gpus

    @property
    def nodes(self) -> int:
        """Of a replica."""
        return nodes_of(self.deployment)

    @cached_property
    def command(self) -> Command:
        return role_serving(self.deployment, self.role) if self.role else serving(self.deployment)

    @property
    def side_channels(self) -> list[int]:
        """Ports on which other replicas ask for the cache: one for each data-parallel rank."""
        return [SIDE_CHANNEL_PORT + rank for rank in range(self.deployment.dp)] if self.role else []

    @cached_property
    def accelerator(self) -> Accelerator | None:
        return accelerator_of(self.gpu)

    @property
    def image(self) -> str | None:
        """The engine's own image at the planned release; None where it has none for this vendor."""
        pattern = _IMAGES.get((self.deployment.engine.name, self.gpu.vendor))
        version = ".".join(map(str, self.deployment.engine.version))
        return pattern.format(version=version) if pattern else None

    @property
    def start_limit_s(self) -> float:
        """How long a start may take before it counts as failed."""
        assumed = self.weights_bytes / LOAD_BYTES_PER_S + ENGINE_START_S
        return START_ALLOWANCE * max(assumed, self.scale_up_s)

    @property
    def out_at_once(self) -> int:
        """Replicas that may be down on purpose: the headroom bought for it, else the spares, else one."""
        return self.rolling or self.spare or 1

    @property
    def cores(self) -> int:
        """To ask for, assumed: a front end, an engine core and a worker for each GPU, two threads each."""
        return 2 * (2 + self.gpus)

    @property
    def memory_gib(self) -> int:
        """To ask for, assumed: processes and pinned buffers of each GPU."""
        return 16 + 8 * self.gpus

    @property
    def shared_memory_gib(self) -> int:
        """For /dev/shm: the processes of a replica talk through it."""
        return 2 if self.gpus == 1 else 16


def attempts(limit_s: float, period_s: int) -> int:
    """Probes of one each `period_s` that fill `limit_s`."""
    return math.ceil(limit_s / period_s)
