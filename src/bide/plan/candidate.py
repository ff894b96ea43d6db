"""Ways to run a service: one deployment, with what a replica of it is for the simulator and for the closed form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.gpus import Gpu
from bide.i18n import _
from bide.physics.blocks import Pool
from bide.physics.memory import Memory, memory_of
from bide.physics.nearness import factors, step_assumption
from bide.physics.own import with_own_pool
from bide.physics.profile import Profile
from bide.plan.disaggregated.pair import Pair
from bide.plan.mix import held_bytes, held_mix, read_bytes, requests_at_once, running_mix
from bide.plan.question import Hardware, Service
from bide.plan.rejection import Rejection
from bide.plan.space import Group, Raw, groups, raw_of
from bide.plan.unfit import unfit
from bide.simulate.cases import Case, case_of
from bide.simulate.replica_setup import ReplicaSetup, setup_of_case
from bide.simulate.steady import Replica
from bide.simulate.step_tables import one_table
from bide.sourced import Assumption

End = Literal["fast", "likely", "slow"]
ENDS: tuple[End, ...] = ("fast", "likely", "slow")
"""Short steps and the largest pool, the likely ones, long steps and the smallest pool: 8 in 10 deployments like this
one lie between the outer two."""
_SHOWN_KNOBS = ("pp", "dp", "ep", "weights", "kv_dtype", "max_num_seqs", "max_num_batched_tokens")


@dataclass(frozen=True, eq=False)
class Candidate:
    """One deployment for a service. `setting` is what the plan chose of it."""

    service: Service
    setting: Raw
    case: Case
    profile: Profile

    def __reduce__(self) -> tuple[object, ...]:
        """Sent to another process as what it is made from."""
        return candidate, (self.service, self.gpu, dict(self.setting), self.profile)

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
        """`2 x h100-sxm, fp8 weights`: the GPUs of a replica, and what was chosen beside them."""
        return name_of(self.gpu, self.setting, self.gpus)

    def pooled_name(self, pair: Pair) -> str:
        """`2 prefill + 4 decode x h100-sxm TP2, fp8 weights`: of such replicas, so many for each stage."""
        cards, *knobs = self.name.split(", ")
        tp = self.deployment.tp
        if self.gpus > 1:
            cards = f"{self.gpu.id} TP{tp}" if tp == self.gpus else f"({cards})"
        text = _("{prefill} prefill + {decode} decode x {replica}")
        return text.format(prefill=pair.prefill, decode=pair.decode, replica=", ".join([cards, *knobs]))

    @cached_property
    def setup(self) -> ReplicaSetup:
        """For the simulator, with likely step times and pool; engines that set output aside do so for the longest."""
        longest = int(self.service.workload.output_tokens.max())
        return setup_of_case(self.case, self.profile).reserving(longest, stated=False)

    def setup_at(self, end: End) -> ReplicaSetup:
        """At one end of step times and pool size."""
        if end == "likely":
            return self.setup
        fast, slow = self.setup.step_factors
        small, _middle, large = self.memory.pools
        return self.setup_with(*((fast, large) if end == "fast" else (slow, small)))

    def setup_with(self, factor: float, pool: Pool) -> ReplicaSetup:
        """With steps `factor` times as long, and this pool on each GPU."""
        return self.setup.slowed(factor).holding(pool)

    @cached_property
    def likely(self) -> Replica:
        """In closed form, for explanation, with likely step times and pool."""
        return _replica(self)

    @cached_property
    def held(self) -> dict[int, float]:
        """Contexts that running requests hold in the cache, and the share of each."""
        return held_mix(self.service.workload, self.deployment)

    @property
    def held_bytes(self) -> float:
        """Cache of a running request on one GPU, on average."""
        return held_bytes(self.deployment, self.held)

    @property
    def most_running(self) -> int:
        """Requests that run at once on one engine of the replica, at most; at least 1."""
        at_once = requests_at_once(self.memory.pool, self.held) / self.deployment.pp
        return max(1, int(min(at_once, self.deployment.max_num_seqs)))

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return *self.deployment.assumptions, step_assumption(self.profile, self.deployment)

    @cached_property
    def spreads(self) -> Mapping[str, tuple[float, float]]:
        """By metric (`ttft_s`): factors on a prediction for its 10th and 90th percentile over deployments like this."""
        return factors(self.profile, self.deployment, self.case.stated)


def candidates(service: Service, hardware: Hardware, profile: Profile) -> Iterator[Candidate | Rejection]:
    """Every setting of every group; what cannot run comes with its reason."""
    for group in groups(service, hardware):
        yield from members(service, group, profile)


def members(service: Service, group: Group, profile: Profile) -> Iterator[Candidate | Rejection]:
    """The settings of a group in order, each deployment once."""
    seen: set[tuple[object, ...]] = set()
    for setting in group.settings:
        found = candidate(service, group.gpu, setting, profile)
        if isinstance(found, Candidate):
            key = tuple(getattr(found.deployment, name) for name in ("tp", "enable_prefix_caching", *_SHOWN_KNOBS))
            if key in seen:
                continue
            seen.add(key)
        yield found


def candidate(service: Service, gpu: Gpu, setting: Raw, profile: Profile) -> Candidate | Rejection:
    """The service on this GPU with this setting, or why it cannot run so."""
    deployment = _deployment(service, gpu, setting)
    if isinstance(deployment, Rejection):
        return deployment
    deployment = with_own_pool(deployment, profile.own, profile.name)
    name, memory = name_of(gpu, setting, deployment.replica_gpus), memory_of(deployment)
    if refused := unfit(name, service, memory):
        return refused
    try:
        made = Candidate(service, setting, case_of(deployment, True), profile)
        return _too_long_for_a_stage(made) or made
    except CannotBeMet as error:
        return Rejection(name, f"{error}.", None, None, "", "")


def _replica(made: Candidate) -> Replica:
    case, work, deployment = made.case, made.service.workload, made.deployment
    table, found = one_table(made.profile, case)
    return Replica(
        table,
        work,
        read_bytes(case.read, running_mix(work)),
        pool_requests=requests_at_once(case.memory.pool, made.held) * deployment.dp,
        most_requests=case.most_requests,
        budget_tokens=deployment.max_num_batched_tokens,
        request_s=float(found.request_s),
        batches=case.batches,
    )


def _deployment(service: Service, gpu: Gpu, setting: Raw) -> Deployment | Rejection:
    """A key that the service itself fixed is an error of the file; one that the plan tried is turned down."""
    longest = service.workload.largest_tokens
    try:
        deployment = Deployment.resolve(raw_of(service, gpu, setting))
    except BadInput as error:
        if error.field not in setting or error.field in service.engine:
            raise
        return Rejection(name_of(gpu, setting, 0), f"{error}.", None, None, "", "")
    if longest <= deployment.max_model_len:
        return deployment
    reason = _("the longest request reaches {longest:,} tokens, max_model_len is {limit:,}").format(
        longest=longest, limit=deployment.max_model_len
    )
    nearest = _("A model with a longer context, or requests cut off there (lengths: max).")
    if "max_model_len" in service.engine:
        nearest = _("A larger max_model_len, or requests cut off there (lengths: max).")
    name = name_of(gpu, setting, deployment.replica_gpus)
    return Rejection(name, reason + ".", longest, deployment.max_model_len, "tokens", nearest)


def _too_long_for_a_stage(made: Candidate) -> Rejection | None:
    """None where each of the replica's schedulers can hold the longest request in its share of the pool."""
    work = made.service.workload
    try:
        made.setup_at("slow").config.check_lengths(work.prompt_tokens, work.output_tokens)
    except ValueError as error:
        nearest = _("More GPUs a stage (tp), or fewer stages (pp).")
        return Rejection(made.name, f"{error}.", None, None, "", nearest)
    return None


def name_of(gpu: Gpu, setting: Raw, gpus: int) -> str:
    """What the reader calls it. `gpus` of 0: as many as the setting says."""
    tp = setting.get("tp")
    count = gpus or (tp if isinstance(tp, int) else 1)
    parts = [gpu.id if count <= 1 else f"{count} x {gpu.id}"]
    texts = {
        "weights": _("{value} weights"),
        "kv_dtype": _("{value} cache"),
        "max_num_seqs": _("{value:,} at once"),
        "max_num_batched_tokens": _("{value:,} tokens a step"),
    }
    for key in _SHOWN_KNOBS:
        value = setting.get(key)
        if value not in (None, 1, "auto"):
            parts.append(texts.get(key, key + " {value}").format(value=value))
    return ", ".join(parts)
