"""Ways to run a service: each GPU of the hardware, each tensor-parallel size, with what one replica can do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.gpus import Gpu
from bide.i18n import _
from bide.interval import Interval, spanning
from bide.metrics import Latency
from bide.physics.blocks import Pool
from bide.physics.memory import Memory, memory_of
from bide.physics.nearness import factors, step_assumption
from bide.physics.own import with_own_pool
from bide.physics.profile import Profile
from bide.plan.mix import held_bytes, held_mix, read_bytes, requests_at_once, running_mix
from bide.plan.question import Hardware, Service
from bide.plan.rejection import Rejection
from bide.simulate.cases import Case, case_of
from bide.simulate.steady import Replica
from bide.simulate.step_tables import one_table
from bide.sourced import Assumption
from bide.units import format_gib
from bide.workload.requests import Workload

_TENSOR_PARALLEL = (1, 2, 4, 8)
_LENGTH_STEP = 1024
"""max_model_len is a multiple of this."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One deployment for a service, and a replica of it at the three ends of pool size and step time."""

    service: Service
    case: Case
    profile: Profile
    fast: Replica
    likely: Replica
    slow: Replica

    @property
    def deployment(self) -> Deployment:
        return self.case.deployment

    @property
    def memory(self) -> Memory:
        return self.case.memory

    @property
    def gpu(self) -> Gpu:
        return self.case.gpu

    @property
    def gpus(self) -> int:
        """Of one replica."""
        return self.deployment.replica_gpus

    @property
    def name(self) -> str:
        return _label(self.gpu, self.gpus)

    @property
    def ends(self) -> tuple[Replica, Replica, Replica]:
        return self.fast, self.likely, self.slow

    @property
    def held(self) -> dict[int, float]:
        """Contexts that running requests hold in the cache, and the share of each."""
        return held_mix(self.service.workload, self.deployment)

    @property
    def held_bytes(self) -> float:
        """Cache of a running request on one GPU, on average."""
        return held_bytes(self.deployment, self.held)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return *self.deployment.assumptions, step_assumption(self.profile, self.deployment)

    @property
    def highest_stable_rps(self) -> Interval:
        """Requests per second at which the queue of one replica begins to grow without end."""
        fast, likely, slow = (replica.highest_stable_rate for replica in self.ends)
        return spanning(slow, likely, fast)

    def spread(self, latency: Latency) -> tuple[float, float]:
        """What to multiply a predicted latency with for its 10th and 90th percentile over deployments like this."""
        return factors(self.profile, self.deployment, self.case.stated)[f"{latency}_s"]


def candidates(service: Service, hardware: Hardware, profile: Profile) -> Iterator[Candidate | Rejection]:
    """Every GPU and tensor-parallel size that the model can be split into; what does not fit comes with its reason."""
    asked = service.engine.get("tp")
    for gpu in hardware.gpus:
        sizes = [asked] if asked is not None else [tp for tp in _TENSOR_PARALLEL if tp <= gpu.node_gpus]
        for tp in sizes:
            if isinstance(tp, int) and tp > hardware.max_gpus:
                continue
            yield _candidate(service, gpu, tp, profile)


def _candidate(service: Service, gpu: Gpu, tp: object, profile: Profile) -> Candidate | Rejection:
    deployment = _deployment(service, gpu, tp)
    if isinstance(deployment, Rejection):
        return deployment
    deployment = with_own_pool(deployment, profile.own, profile.name)
    memory = memory_of(deployment)
    too_big = _without_pool(service, deployment, gpu, memory) or _largest_request(service, deployment, gpu, memory)
    if too_big:
        return too_big
    try:
        case = case_of(deployment, True)
    except CannotBeMet as error:
        return Rejection(_label(gpu, deployment.replica_gpus), str(error), None, None, "", "")
    fast, likely, slow = _replicas(service.workload, case, profile)
    return Candidate(service, case, profile, fast, likely, slow)


def _replicas(work: Workload, case: Case, profile: Profile) -> tuple[Replica, Replica, Replica]:
    """At the fast end, likely and at the slow end: where 8 in 10 deployments like this one lie in TPOT."""
    deployment, (table, found) = case.deployment, one_table(profile, case)
    kv_bytes, held = read_bytes(case.read, running_mix(work)), held_mix(work, deployment)
    fast, slow = factors(profile, deployment, case.stated)["tpot_s"]

    def replica(factor: float, pool: Pool) -> Replica:
        return Replica(
            table.slowed(factor),
            work,
            kv_bytes,
            pool_requests=requests_at_once(pool, held) * deployment.dp,
            most_requests=case.most_requests,
            budget_tokens=deployment.max_num_batched_tokens,
            request_s=float(found.request_s),
            batches=case.batches,
        )

    small, middle, large = case.memory.pools
    return replica(fast, large), replica(1.0, middle), replica(slow, small)


def _deployment(service: Service, gpu: Gpu, tp: object) -> Deployment | Rejection:
    """The service's engine keys on this GPU, with a max_model_len that its longest request just needs."""
    longest = service.workload.largest_tokens
    limit = service.model.max_context_tokens
    length = min(-(-longest // _LENGTH_STEP) * _LENGTH_STEP, limit or longest * 2)
    raw = {"max_model_len": length, **service.engine, "model": service.model, "gpu": gpu, "tp": tp}
    label = _label(gpu, tp if isinstance(tp, int) else 1)
    try:
        deployment = Deployment.resolve(raw)
    except BadInput as error:
        if error.field != "tp" or "tp" in service.engine:
            raise
        return Rejection(label, str(error), None, None, "", "")
    if longest > deployment.max_model_len:
        reason = _("the longest request reaches {longest:,} tokens, max_model_len is {limit:,}").format(
            longest=longest, limit=deployment.max_model_len
        )
        nearest = _("A model with a longer context, or requests cut off there (lengths: max).")
        return Rejection(label, reason + ".", longest, deployment.max_model_len, "tokens", nearest)
    return deployment


def _without_pool(service: Service, deployment: Deployment, gpu: Gpu, memory: Memory) -> Rejection | None:
    """None where something is left for the cache once the weights and the engine have their part."""
    ledger = memory.ledger
    if ledger.pool_bytes > 0:
        return None
    needed = ledger.total_bytes - ledger.unused_bytes - ledger.pool_bytes
    available = ledger.total_bytes - ledger.unused_bytes
    reason = _("{model} does not fit: weights and engine need {needed} GiB a GPU, {available} may be used").format(
        model=service.model.name, needed=format_gib(needed), available=format_gib(available)
    )
    nearest = _("More GPUs a replica (tp), or smaller weights.")
    return Rejection(_label(gpu, deployment.replica_gpus), reason + ".", needed, available, "bytes", nearest)


def _largest_request(service: Service, deployment: Deployment, gpu: Gpu, memory: Memory) -> Rejection | None:
    """None where the pool holds the longest request at least once, even at its low end."""
    longest = service.workload.largest_tokens
    if memory.requests(longest).low >= 1:
        return None
    needed, available = memory.pool.request_bytes(longest), memory.pool_bytes.low
    reason = _("the longest request, {tokens:,} tokens, needs {needed} GiB of cache; the pool may have {there}").format(
        tokens=longest, needed=format_gib(needed), there=format_gib(available)
    )
    nearest = _("More GPUs a replica (tp), an fp8 cache, or smaller weights.")
    return Rejection(_label(gpu, deployment.replica_gpus), reason + ".", needed, available, "bytes", nearest)


def _label(gpu: Gpu, gpus: int) -> str:
    return gpu.id if gpus == 1 else f"{gpus} x {gpu.id}"
