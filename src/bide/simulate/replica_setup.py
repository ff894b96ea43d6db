"""A deployment as the simulator wants it: its scheduler's limits and pool, and what its steps cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.physics.blocks import BlockPool, FlatPool, Group, Pool
from bide.physics.nearness import factors, step_assumption
from bide.physics.own import StepLaw, with_own_pool
from bide.physics.profile import Profile, load_profile
from bide.physics.steptime import StepTable
from bide.simulate.cases import (
    DRAFT_ACCEPTANCE,
    Case,
    case_of,
    draft_assumptions,
    law_of,
    stacked_amounts,
    stacked_reached,
)
from bide.simulate.scheduler.config import CacheGroup, GroupKind, Release, SchedulerConfig
from bide.simulate.scheduler.cost import StepCost, StepTimes
from bide.simulate.step_tables import Steps, table_of_row, tables
from bide.sourced import Assumption

_FIRST_OF_NEW_RULES = (0, 33)
_FLAT_BLOCK_TOKENS = 16
"""Of a pool of token slots, for want of blocks: sharing of prefixes is looked up in these."""
_KINDS: dict[str, GroupKind] = {
    "full": "full",
    "window": "window",
    "chunk": "chunk",
    "state": "state",
    "state_per_block": "full",
}
_SECONDS = ("fixed_s", "per_sequence_s", "per_kv_token_s", "per_area_s", "prefill_step_s")


@dataclass(frozen=True, eq=False)
class ReplicaSetup:
    """One replica: `engines` schedulers side by side (data-parallel ranks x pipeline stages), all alike."""

    deployment: Deployment
    config: SchedulerConfig
    cost: StepCost
    request_s: float
    """Outside the steps: HTTP, tokenising and the first delivery."""
    engines: int
    step_factors: tuple[float, float]
    """What to multiply step times with for their 10th and 90th percentile."""
    assumptions: tuple[Assumption, ...]

    def slowed(self, factor: float) -> ReplicaSetup:
        """The same with every step `factor` times as long."""
        cost = self.cost
        scaled = {name: getattr(cost, name) * factor for name in _SECONDS}
        windows = tuple(seconds * factor for seconds in cost.per_window_token_s)
        slow = replace(cost, linear_s=cost.linear_s * factor, per_window_token_s=windows, **scaled)
        return replace(self, cost=slow)

    def holding(self, pool: Pool) -> ReplicaSetup:
        """The same with another pool on each GPU."""
        num_blocks, _groups, _notes = _pool(pool)
        return replace(self, config=replace(self.config, num_blocks=max(1, num_blocks // self.deployment.pp)))

    def reserving(self, output_tokens: int, stated: bool) -> ReplicaSetup:
        """The same for clients that ask for at most so many tokens, which some engines set aside at admission."""
        if not self.deployment.engine.reserves_output:
            if stated:
                raise BadInput("max_tokens", output_tokens, _("only with --engine trtllm: others set nothing aside"))
            return self
        longest = _("the longest answer of the workload; set aside, so that the cache is full before it looks so")
        why = _("as given") if stated else longest
        asked = Assumption(_("max_tokens of clients"), output_tokens, why)
        config = replace(self.config, reserved_output_tokens=output_tokens)
        return replace(self, config=config, assumptions=(*self.assumptions, asked))


def setup_of(
    deployment: Deployment, profile: Path | None = None, steps: Steps = "roofline", mixed_chunk: bool = False
) -> ReplicaSetup:
    """The simulator's inputs for `deployment`, its pool sized as the engine would. `mixed_chunk`: SGLang's flag.

    Raises CannotBeMet where it does not fit, names no GPU or is an encoder-decoder; BadInput for a profile.
    """
    if mixed_chunk and deployment.engine.name != "sglang":
        raise BadInput("mixed_chunk", mixed_chunk, _("only with --engine sglang; vLLM always mixes"))
    found = load_profile(profile)
    deployment = with_own_pool(deployment, found.own, found.name)
    return setup_of_case(case_of(deployment, stated=True), found, steps, mixed_chunk)


def setup_of_case(case: Case, found: Profile, steps: Steps = "roofline", mixed_chunk: bool = False) -> ReplicaSetup:
    """The same for a case with a profile that is already loaded, its own pool laid in."""
    deployment = case.deployment
    reached = stacked_reached(found, [case])
    stack, origins = tables(steps, [case], stacked_amounts([case]), reached, found)
    config, notes = _config(case, mixed_chunk)
    if origins[0].text:
        notes = [*notes, Assumption(_("kernels"), origins[0].steps, origins[0].text)]
    return ReplicaSetup(
        deployment=deployment,
        config=config,
        cost=_cost(table_of_row(stack, 0), case, config, law_of(found, case)),
        request_s=float(reached.request_s[0]),  # type: ignore[index]
        engines=case.batches,
        step_factors=factors(found, deployment, case.stated)["tpot_s"],
        assumptions=(step_assumption(found, deployment), *draft_assumptions(deployment), *notes, *_parallel(case)),
    )


def _cost(table: StepTable, case: Case, config: SchedulerConfig, law: StepLaw | None) -> StepCost:
    """What decoding reads, all pipeline stages together, and the table's times for it; a measured law as it is."""
    if law is not None:
        return StepCost.affine(
            law.fixed_s, law.per_token_s, law.per_kv_token_s, law.per_sequence_s, config.token_budget
        )
    times = cast("StepTimes", table)  # one table: its numbers are floats
    return StepCost.of_table(times, case.cache, config.token_budget, float(table.prefill_step_s))


def scheduler_config(case: Case) -> SchedulerConfig:
    """Limits and pool of one of the replica's schedulers."""
    return _config(case)[0]


def _config(case: Case, mixed_chunk: bool = False) -> tuple[SchedulerConfig, list[Assumption]]:
    """Limits and pool of one of the replica's schedulers."""
    deployment, stages = case.deployment, case.deployment.pp
    num_blocks, groups, notes = _pool(case.memory.pool)
    config = SchedulerConfig(
        num_blocks=max(1, num_blocks // stages),
        groups=groups,
        max_model_len=deployment.max_model_len,
        max_num_seqs=max(1, deployment.max_num_seqs // stages),
        max_num_batched_tokens=deployment.max_num_batched_tokens,
        enable_chunked_prefill=deployment.enable_chunked_prefill,
        enable_prefix_caching=False,
        async_scheduling=deployment.async_scheduling,
        speculative_tokens=deployment.speculative_tokens,
        draft_acceptance=DRAFT_ACCEPTANCE if deployment.speculative_tokens else 0.0,
        release=_release(deployment),
        prompts_alone=deployment.engine.name == "sglang" and not mixed_chunk,
    )
    if deployment.engine.name != "vllm":
        notes.append(_unlike_vllm(deployment.engine.name, mixed_chunk))
    return _cached(config, deployment, notes)


def _unlike_vllm(engine: str, mixed_chunk: bool) -> Assumption:
    """What of another engine's scheduler is taken over, and which way the rest errs."""
    if engine == "sglang":
        how = _("prompts and decodes mixed") if mixed_chunk else _("prompts in steps of their own, before decodes")
        what = _("vLLM's, with {how}; its radix cache by blocks").format(how=how)
        why = _(
            "SGLang also keeps room for part of what running requests may still write: with a full cache it admits "
            "later and retracts less than here"
        )
        return Assumption(_("scheduler"), what, why)
    what = _("vLLM's, with prompt and max_tokens of each request set aside when it is admitted")
    why = _(
        "GUARANTEED_NO_EVICT: nothing is preempted; a shared prefix is set aside for each request that has it, so that "
        "fewer run at once here where prefixes are long and the cache is full"
    )
    return Assumption(_("scheduler"), what, why)


def _cached(
    config: SchedulerConfig, deployment: Deployment, notes: list[Assumption]
) -> tuple[SchedulerConfig, list[Assumption]]:
    """With prefix caching where it was asked for and the groups allow it."""
    if not deployment.enable_prefix_caching:
        return config, notes
    try:
        return replace(config, enable_prefix_caching=True), notes
    except ValueError as error:
        return config, [*notes, Assumption(_("prefix caching"), _("off"), str(error))]


def _release(deployment: Deployment) -> Release:
    new = deployment.engine.name != "vllm" or deployment.engine.version >= _FIRST_OF_NEW_RULES
    return "0.33" if new else "0.32"


def _pool(pool: Pool) -> tuple[int, tuple[CacheGroup, ...], list[Assumption]]:
    """Blocks, block tables, and what is not as in the engine."""
    if isinstance(pool, FlatPool):
        tokens = max(pool.page_tokens, _FLAT_BLOCK_TOKENS)
        return pool.tokens // tokens + 1, (CacheGroup("full", tokens),), []
    if not pool.groups:
        raise CannotBeMet(_("the model has no cache: there is nothing that a scheduler would hold back"))
    return pool.num_blocks, tuple(_group(group, pool) for group in pool.groups), _unlike(pool.groups)


def _group(group: Group, pool: BlockPool) -> CacheGroup:
    """The member that needs most blocks speaks for the group: all hold as many as it does."""
    spec = max((m.spec for m in group.members), key=lambda spec: spec.blocks(pool.max_model_len, pool.in_flight_tokens))
    if spec.kind not in _KINDS:
        raise CannotBeMet(_("encoder-decoder models are not simulated"))
    kind = _KINDS[spec.kind]
    return CacheGroup(kind, spec.block_tokens, spec.reach_tokens if kind in ("window", "chunk") else 0)


def _unlike(groups: Sequence[Group]) -> list[Assumption]:
    kinds = {member.spec.kind for group in groups for member in group.members}
    if "state_per_block" not in kinds:
        return []
    return [Assumption(_("states"), _("one for each block"), _("allocated as full attention's blocks are"))]


def _parallel(case: Case) -> tuple[Assumption, ...]:
    """Ranks and stages are schedulers of their own here."""
    deployment, made = case.deployment, []
    if deployment.dp > 1:
        why = _("the router chooses the rank too; steps of ranks are not kept together")
        made.append(Assumption(_("data-parallel ranks"), deployment.dp, why))
    if deployment.pp > 1:
        why = _("each batch in the pipeline has its own share of the pool and of max_num_seqs")
        made.append(Assumption(_("pipeline stages"), deployment.pp, why))
    return tuple(made)
