"""Cases under load, solved many at once: a profile's step times, the closed forms, and what each time is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from bide.physics.profile import Profile
from bide.physics.reached import Reached
from bide.physics.steptime import Amounts, Rates, chosen_share, overlap_shares, overlapped, rates
from bide.simulate.cases import Case, mix_columns, replicas, stacked_amounts, stacked_reached
from bide.simulate.loops import States, batch_run, closed_loop, open_loop
from bide.simulate.operating import Bound, Load, Mix
from bide.simulate.pace import Replicas
from bide.simulate.step_tables import Origin, Steps, tables

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SOLVERS = {"concurrency": closed_loop, "requests_per_s": open_loop, "batch": batch_run}


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """Numbers by name, arrays of one row a case."""

    columns: dict[str, Floats]
    origins: Sequence[Origin]
    """Of the step times, by case."""

    def rows(self) -> Iterator[dict[str, float]]:
        """One dictionary of plain floats a case."""
        names = tuple(self.columns)
        for values in zip(*(column.tolist() for column in self.columns.values()), strict=True):
            yield dict(zip(names, values, strict=True))


def solve(
    profile: Profile, cases: Sequence[Case], mixes: Sequence[Mix], loads: Sequence[Load], steps: Steps = "roofline"
) -> Solved:
    """The states of `cases` serving `mixes` under `loads`."""
    import numpy as np

    distinct = list({id(case): case for case in cases}.values())
    number = {id(case): place for place, case in enumerate(distinct)}
    place = np.array([number[id(case)] for case in cases])
    amounts, found = stacked_amounts(distinct), stacked_reached(profile, distinct)
    table, origins = tables(steps, distinct, amounts, found, profile)
    stack = replicas(mix_columns(cases, mixes), table, found, place)
    values = np.array([load.value for load in loads])
    kinds = np.array([load.kind for load in loads])
    columns = {field.name: np.empty(len(cases)) for field in fields(States)}
    for kind, solver in SOLVERS.items():
        rows = np.flatnonzero(kinds == kind)
        if rows.size:
            states = solver(stack.chosen(rows), values[rows])
            for name, column in columns.items():
                column[rows] = getattr(states, name)
    columns["highest"], columns["places"] = stack.highest_rate, stack.places
    columns["request_s"] = stack.request_s
    columns |= _parts(
        _at(amounts, place), _at(found, place), rates(_at(amounts, place), _at(found, place)), stack, columns
    )
    lawful = np.array([origin.steps == "law" for origin in origins])[place]
    if lawful.any():
        columns |= _law_parts(stack, columns, lawful)
    return Solved(columns, [origins[number[id(case)]] for case in cases])


def _law_parts(stack: Replicas, state: dict[str, Floats], lawful: NDArray[np.bool_]) -> dict[str, Floats]:
    """The same where steps were measured: tokens count as computing, reading weights is in what is fixed."""
    import numpy as np

    table, each = stack.table, np.maximum(state["decoding"], 1.0)
    nothing = np.zeros_like(each)
    parts = {
        "weights_s": nothing,
        "kv_s": each * stack.kv_bytes * table.per_kv_byte_s,
        "compute_s": table.linear(each * stack.tokens_each),
        "network_s": nothing,
        "overhead_s": table.fixed_s + each * table.per_sequence_s,
    }
    own = {"own_network_s": nothing, "own_overhead_s": nothing}
    found = {name: np.asarray(value) / stack.tokens_got for name, value in parts.items()} | own
    return {name: np.where(lawful, value, state[name]) for name, value in found.items()}


def largest_part(row: Mapping[str, float]) -> Bound:
    """What an output token mostly waits for, of a row of `solve`."""
    causes: tuple[Bound, ...] = ("weights", "kv", "compute", "network", "overhead", "prefill")
    return max(causes, key=lambda cause: row[f"{cause}_s"])


def _at(values: Amounts | Reached, place: NDArray[np.intp]):  # type: ignore[no-untyped-def]
    """The same for each case rather than each distinct one."""
    return type(values)(*(getattr(values, field.name)[place] for field in fields(values)))


def _parts(
    amounts: Amounts, found: Reached, rate: Rates, stack: Replicas, state: dict[str, Floats]
) -> dict[str, Floats]:
    """Seconds of an output token and of the own prefill, by cause."""
    import numpy as np

    each = np.maximum(state["decoding"], 1.0)
    tokens = each * stack.tokens_each
    chosen = chosen_share(amounts.expert_share, (tokens * amounts.expert_groups) ** found.draws)
    reading = amounts.dense_bytes * rate.weight_byte_s + amounts.expert_bytes * rate.expert_byte_s * chosen
    computing = tokens * rate.token_s
    linear = overlapped(reading, computing)
    weights_share = overlap_shares(reading, computing)
    parts = {
        "weights_s": linear * weights_share,
        "kv_s": each * stack.kv_bytes * rate.kv_byte_s,
        "compute_s": linear * (1 - weights_share) + each * rate.head_s,
        "network_s": tokens * rate.sent_token_s + rate.sums_s,
        "overhead_s": rate.launch_s + each * found.sequence_s,
    }
    step_s = sum(parts.values())
    scale = state["decode_s"] / step_s / stack.tokens_got
    found_parts = {name: np.asarray(value * scale) for name, value in parts.items()}
    own_steps = stack.table.prefill_step_s + np.where(stack.separate, rate.launch_s, 0.0)
    return found_parts | {
        "prefill_s": state["others_s"],
        "own_network_s": stack.prompt_tokens * rate.sent_token_s,
        "own_overhead_s": stack.chunks * own_steps,
    }
