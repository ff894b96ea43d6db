"""What would let more requests in: each change on its own, with what it would give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.formats import UNQUANTISED
from bide.facts.gpus import all_gpus
from bide.facts.kv_formats import kv_format
from bide.facts.models import Entry, catalogue, find
from bide.i18n import _
from bide.physics.cautions import runs_fp8_cache, runs_fp8_weights
from bide.physics.kv import kv_need
from bide.physics.memory import Memory, memory_of
from bide.units import format_gib

_SIBLING_SIZE = 1.5
"""A sibling has at most this factor more or fewer parameters."""
_SIBLING_GAIN = 0.6
"""... and at most this share of the cache bytes per token."""
_BIGGER_GPU = 1.1
"""A bigger card has at least this much more memory."""
_SLOWER_GPU = 0.9
"""A bigger card keeps at least this share of the bandwidth: more room must not cost speed."""


@dataclass(frozen=True, slots=True)
class Lever:
    """One change and its effect at one context. `requests` are of the whole replica; None where it would not run."""

    id: str
    name: str
    requests: float | None
    factor: float | None
    """Requests against the deployment as asked; None where that holds none."""
    gpus: int
    note: str = ""

    def to_dict(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def levers(raw: Mapping[str, object], memory: Memory, context_tokens: int, mean_tokens: int | None) -> list[Lever]:
    """Every lever that applies to the deployment `raw` (which gave `memory`), as asked at `context_tokens`."""
    found = [_tried(raw, memory, context_tokens, *change) for change in _changes(raw, memory)]
    paged = _paged(memory, context_tokens, mean_tokens)
    return [lever for lever in (*found, paged) if lever is not None]


def changes(raw: Mapping[str, object], memory: Memory) -> dict[str, dict[str, object]]:
    """The keys that each lever changes, by its id."""
    return {lever: change for lever, _name, change, _note in _changes(raw, memory)}


Change = tuple[str, str, dict[str, object], str]
"""id, name, changed keys, note."""


def _changes(raw: Mapping[str, object], memory: Memory) -> Iterator[Change]:
    deployment = memory.deployment
    yield from _cache_changes(deployment)
    if deployment.gpu is not None:
        yield from _card_changes(deployment)
    yield from _sibling(raw, deployment)


def _card_changes(deployment: Deployment) -> Iterator[Change]:
    """What leaves more of the card, or of more cards, for the cache."""
    yield from _weight_changes(deployment)
    tp = deployment.tp * 2
    if deployment.model.attention_heads % tp == 0:
        note = _("the weights are divided") + (_(", the cache too") if _is_divided(deployment) else "")
        yield "tp", _("tensor parallel {tp}").format(tp=tp), {"tp": tp}, note
    yield from _bigger_gpu(deployment)


def _is_divided(deployment: Deployment) -> bool:
    """Whether more tensor parallelism leaves less cache on each GPU (MLA and too few KV heads are copied)."""
    doubled = replace(deployment, tp=deployment.tp * 2)
    return kv_need(doubled).per_gpu.request_bytes(1) < kv_need(deployment).per_gpu.request_bytes(1)


def _cache_changes(deployment: Deployment) -> Iterator[Change]:
    if runs_fp8_cache(deployment) and kv_format(deployment.kv_dtype, deployment.model).bytes_per_element > 1:
        yield (
            "kv_fp8",
            _("fp8 cache"),
            {"kv_dtype": "fp8"},
            _("half the bytes per token; check the quality of long contexts"),
        )


def _weight_changes(deployment: Deployment) -> Iterator[Change]:
    quantised = deployment.weights == "auto" and deployment.model.quantisation is not None
    if quantised or deployment.weights not in ("auto", *UNQUANTISED):
        return
    if runs_fp8_weights(deployment):
        yield "weights_fp8", _("fp8 weights"), {"weights": "fp8"}, _("about half the bytes of weights")
    note = _("about a quarter of the bytes of weights; check the quality")
    yield "weights_int4", _("int4 weights"), {"weights": "int4"}, note


def _bigger_gpu(deployment: Deployment) -> Iterator[Change]:
    """The smallest of the same vendor's data-centre cards with more memory, those with a price first."""
    gpu = deployment.gpu
    if gpu is None:
        return
    larger = [g for g in all_gpus() if g.vendor == gpu.vendor and g.usable_bytes > _BIGGER_GPU * gpu.usable_bytes]
    slowest = _SLOWER_GPU * gpu.bandwidth_bytes_per_s
    larger = [g for g in larger if not g.unified_memory and g.bandwidth_bytes_per_s >= slowest]
    if larger:
        best = min(larger, key=lambda g: (not g.prices, g.usable_bytes))
        note = _("a card of {gib} GiB").format(gib=format_gib(best.memory_bytes))
        yield "gpu", best.id, {"gpu": best.id}, note


def _sibling(raw: Mapping[str, object], deployment: Deployment) -> Iterator[Change]:
    """The catalogue's nearest model of about this size that caches much less per token (GQA, MLA, windows, states)."""
    entry = find(deployment.model.name)
    own = entry or _as_entry(deployment)
    near = [e for e in catalogue() if e.id != own.id and _is_sibling(e, own)]
    if near:
        best = min(near, key=lambda e: (e.family != own.family, _distance(e, own)))
        change: dict[str, object] = {"model": best.id, "weights": raw.get("weights", "auto")}
        longest = raw.get("max_model_len")
        if isinstance(longest, int) and best.max_context_tokens:
            change["max_model_len"] = min(longest, best.max_context_tokens)
        yield "model", best.id, change, _("a model of about this size that caches less per token")


def _as_entry(deployment: Deployment) -> Entry:
    model, cost = deployment.model, kv_need(deployment).model
    per_token = cost.growing_bytes_per_token or sum(w.bytes_per_token for w in cost.windows)
    return Entry(model.name, "", (), model.family, model.parameters, per_token, model.max_context_tokens)


def _is_sibling(entry: Entry, own: Entry) -> bool:
    near_size = 1 / _SIBLING_SIZE <= entry.parameters / max(1, own.parameters) <= _SIBLING_SIZE
    long_enough = (entry.max_context_tokens or 0) >= (own.max_context_tokens or 0)
    return near_size and long_enough and 0 < entry.kv_bytes_per_token <= _SIBLING_GAIN * own.kv_bytes_per_token


def _distance(entry: Entry, own: Entry) -> float:
    ratio = entry.parameters / own.parameters
    return max(ratio, 1 / ratio)


def _tried(
    raw: Mapping[str, object], memory: Memory, context: int, lever: str, name: str, change: dict[str, object], note: str
) -> Lever | None:
    """The deployment with the change; one that cannot be built is no lever, one that does not fit says so."""
    try:
        changed = _changed(raw, change)
    except BadInput:
        return None
    gpus = changed.deployment.replica_gpus
    if not changed.fits:
        if lever == "model":
            return None
        return Lever(lever, name, None, None, gpus, _("the weights would not fit"))
    requests = changed.replica_requests(context).mid
    return Lever(lever, name, requests, _factor(requests, memory, context), gpus, note)


def _changed(raw: Mapping[str, object], change: Mapping[str, object]) -> Memory:
    """The memory with the change. A pool that was given moves by as much as the predicted one does."""
    given = raw.get("pool_bytes_per_gpu")
    if not isinstance(given, int) or raw.get("gpu") is None:
        return memory_of(Deployment.resolve({**raw, **change}))
    predicted = {key: value for key, value in raw.items() if key != "pool_bytes_per_gpu"}
    before = memory_of(Deployment.resolve(predicted)).pool_bytes.mid
    after = memory_of(Deployment.resolve({**predicted, **change})).pool_bytes.mid
    pool = max(0, round(given + after - before))
    return memory_of(Deployment.resolve({**raw, **change, "pool_bytes_per_gpu": pool}))


def _factor(requests: float, memory: Memory, context: int) -> float | None:
    before = memory.replica_requests(context).mid
    return requests / before if before > 0 else None


def _paged(memory: Memory, context: int, mean_tokens: int | None) -> Lever | None:
    """Blocks are taken as tokens come: what counts is the mean length, not the longest allowed."""
    if not memory.fits:
        return None
    mean = mean_tokens or context // 2
    name = _("a mean of {mean:,} tokens").format(mean=mean)
    note = _("blocks are taken as tokens come: the mean length counts, not the longest")
    if mean_tokens is None:
        note += _(" (half the context is an example: give yours as --mean-tokens)")
    requests = memory.replica_requests(mean).mid
    return Lever("paged", name, requests, _factor(requests, memory, context), memory.deployment.replica_gpus, note)
