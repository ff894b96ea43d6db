"""Deployments and mixes made ready for the closed forms: amounts, names of terms, slots, and stacks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.gpus import UNLISTED, Gpu
from bide.facts.layers import Cost
from bide.i18n import _
from bide.physics.memory import Memory, memory_of
from bide.physics.own import StepLaw
from bide.physics.pool import no_room, stage_pools
from bide.physics.profile import Profile
from bide.physics.reached import ROLES, Reached, reached, term_names
from bide.physics.same import Same, kept
from bide.physics.steptime import Amounts, StepTable
from bide.physics.stepwork import KvRead, is_widened, kv_read, step_amounts
from bide.simulate.operating import Mix
from bide.simulate.pace import Replicas
from bide.sourced import Assumption

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DYNAMICS = ("request_s", "burst", "bunching_scale", "bunching_power")
AMOUNTS = tuple(column.name for column in fields(Amounts))
_FEWEST_CONTEXT_TOKENS = 16
DRAFT_ACCEPTANCE = 0.7
"""Of a draft token given that those before it were taken: nobody says it for a deployment, and it depends on the text
(published acceptance lengths of MTP and EAGLE-3 are 1.7 to 1.9 tokens with one draft, 2.5 to 3 with three)."""


@dataclass(frozen=True, eq=False)
class Case:
    """A deployment that fits, lowered to what the step-time model needs of it."""

    deployment: Deployment
    gpu: Gpu
    stated: bool
    """Whether the engine's version is known rather than assumed."""
    memory: Memory
    amounts: Amounts
    read: KvRead
    names: Mapping[str, tuple[str, ...] | float]
    amount_row: tuple[float, ...]
    _held: dict[int, float] = field(default_factory=dict)
    """Requests that the pool holds, by context, as far as anybody asked."""

    @property
    def batches(self) -> int:
        """Batches that a replica runs at once: data-parallel groups x pipeline stages."""
        return self.deployment.dp * self.deployment.pp

    @property
    def cache(self) -> Cost:
        """What a decoding sequence makes one GPU read, all pipeline stages together."""
        return Cost(self.read.growing_bytes_per_token, self.read.windows, self.read.fixed_bytes)

    @property
    def most_requests(self) -> int:
        """That the engine admits to a replica."""
        return self.deployment.max_num_seqs * self.deployment.dp

    def pool_requests(self, mix: Mix) -> float:
        """Requests of the mix that the pool holds: of mean length, or whole where the engine reserves the output."""
        held = mix.output_tokens if self.deployment.engine.reserves_output else mix.output_tokens / 2
        context = max(_FEWEST_CONTEXT_TOKENS, round(mix.prompt_tokens + held))
        if context not in self._held:
            self._held[context] = self.memory.replica_requests(context).mid
        return self._held[context]

    def slots(self, mix: Mix) -> float:
        """Requests that run at once, at least one: a longer one alone is squeezed in, with preemptions."""
        return max(1.0, min(self.pool_requests(mix), float(self.most_requests)))


def case_of(deployment: Deployment, stated: bool) -> Case:
    """The case of `deployment`, kept for the next time that the same object is asked for.

    Raises CannotBeMet where it does not fit, names no GPU, or the GPU's peak is not known.
    """
    return _case_of(Same(deployment), stated)


@kept(4096)
def _case_of(kept: Same[Deployment], stated: bool) -> Case:
    deployment = kept.value
    amounts = step_amounts(deployment)
    gpu = deployment.gpu
    assert gpu is not None  # step_amounts raises without one
    memory = memory_of(deployment)
    if not memory.fits:
        if deployment.pool_bytes_per_gpu is not None:
            raise CannotBeMet(_("the pool that was given is empty"))
        raise CannotBeMet(no_room(deployment, stage_pools(deployment)))
    names = term_names(deployment, gpu, stated, widened=is_widened(deployment, gpu))
    row = tuple(float(getattr(amounts, name)) for name in AMOUNTS)
    return Case(deployment, gpu, stated, memory, amounts, kv_read(deployment), names, row)


def stacked_amounts(cases: Sequence[Case]) -> Amounts:
    """The amounts of all cases, as arrays."""
    import numpy as np

    return Amounts(*np.array([case.amount_row for case in cases]).T)


def stacked_reached(profile: Profile, cases: Sequence[Case]) -> Reached:
    """What the profile says of all cases, as arrays."""
    import numpy as np

    found = [reached_of(profile, case) for case in cases]
    return Reached(*np.array([[getattr(item, role) for role in ROLES] for item in found]).T)


def law_of(profile: Profile, case: Case) -> StepLaw | None:
    """The measured step law of this very deployment, where the profile has one."""
    return profile.own.own_law(case.deployment) if profile.own is not None else None


def reached_of(profile: Profile, case: Case) -> Reached:
    """What the profile says of one case. Raises BadInput for hardware of which nothing but a step law could tell."""
    found, law = reached(profile.applied(case.deployment), case.names), law_of(profile, case)
    if law is None and case.gpu.id == UNLISTED:
        allowed = _("a GPU of the catalogue (`bide gpus`), or a profile with the step law of this deployment")
        raise BadInput("gpu", UNLISTED, allowed, _("`bide calibrate --step-law affine` measures one"))
    return found if law is None else replace(found, request_s=law.request_s)


def drafted_tokens(deployment: Deployment) -> float:
    """Tokens that a sequence gets from a step with k drafts: (1 - a^(k + 1)) / (1 - a)."""
    drafts = deployment.speculative_tokens
    return (1 - DRAFT_ACCEPTANCE ** (drafts + 1)) / (1 - DRAFT_ACCEPTANCE)


def draft_assumptions(deployment: Deployment) -> tuple[Assumption, ...]:
    """The acceptance rate, where there are drafts."""
    if not deployment.speculative_tokens:
        return ()
    why = _("share of draft tokens that are accepted; it depends on the text")
    return (Assumption("draft acceptance", DRAFT_ACCEPTANCE, why),)


def mix_columns(cases: Sequence[Case], mixes: Sequence[Mix]) -> dict[str, Floats]:
    """What of a `Replicas` does not depend on a profile."""
    import numpy as np

    pairs = list(zip(cases, mixes, strict=True))
    columns = {
        "kv_bytes": [case.read.mean_bytes(mix.prompt_tokens, mix.output_tokens) for case, mix in pairs],
        "prompt_tokens": [mix.prompt_tokens for mix in mixes],
        "output_tokens": [mix.output_tokens for mix in mixes],
        "slots": [case.slots(mix) for case, mix in pairs],
        "batches": [case.batches for case in cases],
        "budget_tokens": [case.deployment.max_num_batched_tokens for case in cases],
        "tokens_each": [1 + case.deployment.speculative_tokens for case in cases],
        "tokens_got": [drafted_tokens(case.deployment) for case in cases],
    }
    return {name: np.array(values, dtype=np.float64) for name, values in columns.items()}


def replicas(columns: Mapping[str, Floats], table: StepTable, found: Reached, case: NDArray[np.intp]) -> Replicas:
    """The stack of replicas whose step times and dynamics are those of distinct cases: `case` says of which."""
    import numpy as np

    def spread(values: object) -> Floats:
        return np.asarray(values, dtype=np.float64)[case]

    dynamics = {name: spread(getattr(found, name)) for name in _DYNAMICS}
    return Replicas(
        table=StepTable(*(spread(getattr(table, column.name)) for column in fields(StepTable))), **columns, **dynamics
    )
