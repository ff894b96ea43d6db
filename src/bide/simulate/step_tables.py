"""Where step times come from: the calibrated roofline, or measured kernels with the roofline's host times on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from bide.i18n import _
from bide.physics.profile import Profile
from bide.physics.reached import Reached
from bide.physics.steptime import Amounts, StepTable, roofline, stacked
from bide.simulate.cases import Case, law_of, reached_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Steps = Literal["roofline", "kernels"]
"""`kernels`: of the database in the extra `measured`, where it covers the case; the roofline elsewhere."""
Kind = Literal["roofline", "kernels", "law"]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a case got; `text` names the kernels, or says why there are none. `law`: its own, of the profile."""

    steps: Kind
    text: str = ""


def tables(
    steps: Steps, cases: Sequence[Case], amounts: Amounts, found: Reached, profile: Profile
) -> tuple[StepTable, list[Origin]]:
    """A stack of step tables for `cases`, and where each comes from; a measured step law goes before all else."""
    stack, origins = roofline(amounts, found), [Origin("roofline")] * len(cases)
    if steps == "kernels":
        stack, origins = _with_kernels(stack, cases, found)
    return (
        (stack, origins)
        if profile.own is None or profile.own.law is None
        else _with_laws(stack, origins, cases, profile)
    )


def one_table(profile: Profile, case: Case) -> tuple[StepTable, Reached]:
    """The same for one case: its step law, or the roofline."""
    found, law = reached_of(profile, case), law_of(profile, case)
    if law is not None:
        return law.table(case.cache, case.deployment.max_num_batched_tokens), found
    return roofline(case.amounts, found), found


def _with_laws(
    stack: StepTable, origins: list[Origin], cases: Sequence[Case], profile: Profile
) -> tuple[StepTable, list[Origin]]:
    """The rows of deployments whose steps were measured replaced."""
    tables_of = [table_of_row(stack, row) for row in range(len(cases))]
    made, found = list(origins), tables_of
    for row, case in enumerate(cases):
        law = law_of(profile, case)
        if law is not None:
            found[row] = law.table(case.cache, case.deployment.max_num_batched_tokens)
            made[row] = Origin("law")
    return stacked(found), made


def table_of_row(stack: StepTable, row: int) -> StepTable:
    """One table of a stack."""
    import numpy as np

    count = len(stack.linear_s)

    def one(value: object) -> float:
        return float(np.broadcast_to(np.asarray(value), (count,))[row])

    names = [column.name for column in fields(StepTable) if column.name != "linear_s"]
    return StepTable(linear_s=stack.linear_s[row], **{name: one(getattr(stack, name)) for name in names})


def _with_kernels(stack: StepTable, cases: Sequence[Case], found: Reached) -> tuple[StepTable, list[Origin]]:
    """Kernels have no gaps, no scheduling and no sampling: what the profile says of these is added."""
    import numpy as np

    from bide.physics.measured import Uncovered, measured_table

    shape = (len(cases),)
    names = ("per_kv_byte_s", "per_sequence_s", "per_area_s", "fixed_s", "prefill_step_s", "separate_prefill")
    columns = {name: np.broadcast_to(getattr(stack, name), shape).copy() for name in names}
    linear_s, origins = stack.linear_s.copy(), []
    sequence_s, fixed_s = (np.broadcast_to(value, shape) for value in (found.sequence_s, found.fixed_s))
    for row, case in enumerate(cases):
        answer = measured_table(case.deployment)
        if isinstance(answer, Uncovered):
            origins.append(Origin("roofline", _("no measured kernels: {reason}").format(reason=answer.reason)))
            continue
        origins.append(Origin("kernels", answer.source))
        linear_s[row] = answer.table.linear_s
        host = {"per_sequence_s": sequence_s[row], "fixed_s": fixed_s[row]}
        for name in ("per_kv_byte_s", "per_sequence_s", "per_area_s", "fixed_s"):
            columns[name][row] = getattr(answer.table, name) + host.get(name, 0.0)
        columns["prefill_step_s"][row] = max(columns["prefill_step_s"][row], answer.table.prefill_step_s)
    return StepTable(linear_s=linear_s, **columns), origins
