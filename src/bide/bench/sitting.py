"""What a sitting at a cell plays: all of it or what an earlier one left, and what warms the server up before."""

from __future__ import annotations

from dataclasses import replace

from bide.bench.cell import CellPlan, Played, play_cell
from bide.bench.clock import now_ns
from bide.bench.loads import Load, arrivals_s
from bide.bench.loop import run_on_loop
from bide.bench.outcome import Outcome
from bide.bench.recorder import Recorder

_WARM_CONCURRENCY = 8


def asked_requests(plan: CellPlan) -> int | None:
    """How many requests the cell is to have; None where the time decides, or may."""
    load = plan.load
    if load.kind == "replay":
        return len(plan.demand)
    if load.kind == "closed":
        return load.requests if load.duration_s is None else None
    return len(arrivals_s(load, plan.seed))


def warmed_up(plan: CellPlan, requests: int) -> Played:
    """Send other prompts than those that are measured; nothing of it is kept."""

    def forget(_outcome: Outcome) -> None:
        pass

    def silent(_recorder: Recorder, _flying: int) -> None:
        pass

    load = Load("closed", concurrency=min(_WARM_CONCURRENCY, requests), requests=requests)
    demand = replace(plan.demand, arrival_s=None, session=None, think_s=None, blocks=None)
    other = replace(plan.sharing, salt=plan.sharing.salt ^ (1 << 50))
    warming = replace(plan, load=load, demand=demand, sharing=other, done=frozenset(), offset_s=0.0, scrape_s=0.0)
    return run_on_loop(play_cell(warming, now_ns, forget, silent, lambda: None))


def remaining(plan: CellPlan, before: list[Outcome]) -> CellPlan:
    """What is left after an earlier sitting, and where on the cell's clock it goes on."""
    if not before:
        return plan
    done = frozenset(each.number for each in before)
    if plan.load.kind == "closed":
        return replace(plan, done=done, offset_s=max(each.end_s or 0.0 for each in before))
    times = plan.demand.arrival_s if plan.load.kind == "replay" else arrivals_s(plan.load, plan.seed)
    assert times is not None
    left = (float(time) for number, time in enumerate(times) if number not in done)
    return replace(plan, done=done, offset_s=next(left, float(times[-1])))
