"""Where step times come from: the calibrated roofline, or measured kernels with the roofline's host times on top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bide.i18n import _
from bide.physics.reached import Reached
from bide.physics.steptime import Amounts, StepTable, roofline
from bide.simulate.cases import Case

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Steps = Literal["roofline", "kernels"]
"""`kernels`: of the database in the extra `measured`, where it covers the case; the roofline elsewhere."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Which of the two a case got; `text` names the kernels, or says why there are none."""

    steps: Steps
    text: str = ""


def tables(steps: Steps, cases: Sequence[Case], amounts: Amounts, found: Reached) -> tuple[StepTable, list[Origin]]:
    """A stack of step tables for `cases`, and where each comes from."""
    stack = roofline(amounts, found)
    if steps == "roofline":
        return stack, [Origin("roofline")] * len(cases)
    return _with_kernels(stack, cases, found)


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
