"""The finite set of deployments that a plan chooses from, fixed by the service and the hardware alone.

Not by load or patience: so a longer patience or a lower rate can only add to what holds. A group is a
GPU and a number of them that make a replica; in a group, settings come in the order in which a tie is
decided, the engine's defaults first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.gpus import Gpu
from bide.facts.layers import LatentAttention
from bide.physics.memory import memory_of
from bide.plan.question import Hardware, Service

_TENSOR_PARALLEL = (1, 2, 4, 8)
_STAGES = (2, 4, 8)
_BATCHED_TOKENS = (2048, 16384)
"""Beside the engine's default: shorter steps while prompts come in, or fewer of them."""
_LENGTH_STEP = 1024
"""max_model_len is a multiple of this."""
_PARALLEL = ("tp", "pp", "dp", "ep")

Raw = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Group:
    """The settings of a GPU that take `gpus` of them for a replica."""

    gpu: Gpu
    gpus: int
    settings: tuple[Raw, ...]
    """Deployment keys, without the model and the GPU; `max_num_batched_tokens` is there only where it is no default."""


def groups(service: Service, hardware: Hardware) -> Iterator[Group]:
    """Every group that the hardware has GPUs for.

    On a kind of GPU of which there is a benchmark, only what was measured: next to a measurement a prediction that is
    better may just be too good.
    """
    for gpu in {gpu.id: gpu for gpu in hardware.gpus}.values():
        if service.measured is not None and service.measured.gpu.id == gpu.id:
            setting = service.measured.setting
            yield Group(gpu, _gpus({**service.engine, **setting}), (setting,))
            continue
        by_size: dict[int, list[Raw]] = {}
        for layout in _layouts(service, gpu, hardware.max_gpus):
            by_size.setdefault(_gpus(layout), []).append(layout)
        for gpus, layouts in sorted(by_size.items()):
            settings = [dict(layout) | knobs for knobs in _knobs(service) for layout in layouts]
            yield Group(gpu, gpus, tuple(settings))


def longest_model_len(service: Service) -> int:
    """The max_model_len that the longest request just needs, as far as the model goes."""
    longest, limit = service.workload.largest_tokens, service.model.max_context_tokens
    return min(-(-longest // _LENGTH_STEP) * _LENGTH_STEP, limit or longest * 2)


def _gpus(layout: Raw) -> int:
    tp, pp, dp = (_whole(layout.get(key, 1)) for key in ("tp", "pp", "dp"))
    return tp * pp * dp


def _whole(value: object) -> int:
    """What is no number is refused later, with its reason, by the deployment."""
    return value if isinstance(value, int) else 1


def _layouts(service: Service, gpu: Gpu, max_gpus: int) -> Iterator[Raw]:
    """How a replica is spread: as told, else over the GPUs of a node, and over nodes where one is too small."""
    fixed = {key: service.engine[key] for key in _PARALLEL if key in service.engine}
    listed = {key: service.choices[key] for key in _PARALLEL if key in service.choices}
    sizes = listed.pop("tp", tuple(tp for tp in _TENSOR_PARALLEL if tp <= gpu.node_gpus))
    found: list[Raw] = []
    for tp in (fixed["tp"],) if "tp" in fixed else sizes:
        for values in product(*listed.values()):
            plain = {"tp": tp, **fixed, **dict(zip(listed, values, strict=True))}
            found += [plain, *_of_experts(service, plain)]
    if (
        not fixed.keys() & {"tp", "pp"}
        and "pp" not in listed
        and not any(_has_room(service, gpu, one) for one in found)
    ):
        found += [{**layout, "pp": stages} for stages in _STAGES for layout in found[-1:]]
    yield from (layout for layout in found if _gpus(layout) <= max_gpus)


def _of_experts(service: Service, plain: dict[str, object]) -> Iterator[Raw]:
    """Experts divided whole instead of each of them; and attention copied where its cache is not divided anyway."""
    tp = _whole(plain["tp"])
    if service.model.moe is None or tp == 1 or plain.keys() & {"ep", "dp"}:
        return
    yield {**plain, "ep": tp}
    if any(isinstance(group, LatentAttention) for group in service.model.groups) and "tp" not in service.engine:
        yield {**plain, "tp": 1, "dp": tp, "ep": tp}


def _has_room(service: Service, gpu: Gpu, layout: Raw) -> bool:
    """Whether any of its settings leaves memory for a cache."""
    for knobs in _knobs(service):
        try:
            if memory_of(Deployment.resolve(raw_of(service, gpu, {**layout, **knobs}))).fits:
                return True
        except BadInput:
            continue
    return False


def raw_of(service: Service, gpu: Gpu, setting: Raw) -> dict[str, object]:
    """Everything that a deployment is resolved from."""
    raw = {"max_model_len": longest_model_len(service), **service.engine, **setting}
    return {**raw, "model": service.model, "gpu": gpu}


def _knobs(service: Service) -> list[dict[str, object]]:
    """Values of what the file gives lists for, and of the tokens a step where it says nothing of them."""
    listed = {key: values for key, values in service.choices.items() if key not in _PARALLEL}
    told = "max_num_batched_tokens" in service.engine or "max_num_batched_tokens" in listed
    chosen = [dict(zip(listed, values, strict=True)) for values in product(*listed.values())]
    budgets = [{}] if told else [{}, *({"max_num_batched_tokens": tokens} for tokens in _BATCHED_TOKENS)]
    return [{**values, **budget} for budget in budgets for values in chosen]
