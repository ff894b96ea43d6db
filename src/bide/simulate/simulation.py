"""A workload through a deployment: the verb `bide.simulate_workload`, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.physics.cautions import speed_cautions
from bide.physics.memory import memory_of
from bide.simulate.fleet.link import link_of
from bide.simulate.fleet.rules import FleetRules
from bide.simulate.fleet.run import FleetRun, run_fleet
from bide.simulate.replica_setup import ReplicaSetup, setup_of
from bide.simulate.step_tables import Steps
from bide.simulate.summary.step_error import with_step_error
from bide.simulate.summary.summarise import Summary, summarise
from bide.simulate.summary.token_gaps import token_gaps
from bide.simulate.summary.window import window_of
from bide.sourced import Assumption
from bide.workload.trace import Trace
from bide.workload.traffic import Traffic, read_workload, traffic_of

if TYPE_CHECKING:
    import polars as pl

    from bide.records import RequestTable

LIMITED = ("ttft", "tpot", "e2e")
"""What a service-level objective may limit."""


def _silent(_share: float) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Ways:
    """How the workload is played and measured, beside the fleet. Times are seconds."""

    rate: float | None = None
    scale: float | None = None
    requests: int | None = None
    slo: Mapping[str, float] = field(default_factory=dict)
    warm_up_s: float | None = None
    steps: Steps = "roofline"
    profile: Path | None = None
    step_error: bool = True
    """Run with faster and slower steps too."""
    max_tokens: int | None = None
    """What clients ask for at most, which TensorRT-LLM sets aside; the longest answer unless given."""
    mixed_chunk: bool = False
    """SGLang's flag: decodes ride along with prompts."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """A run and its figures."""

    setup: ReplicaSetup
    traffic: Traffic
    rules: FleetRules
    run: FleetRun
    summary: Summary

    @property
    def deployment(self) -> Deployment:
        return self.setup.deployment

    @property
    def table(self) -> RequestTable:
        """A row for each request."""
        return self.run.table

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        fleet = (link_of(self.deployment, self.rules).assumption,) if self.rules.split else ()
        return (*self.deployment.assumptions, *self.setup.assumptions, *self.traffic.assumptions, *fleet)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed but likely a mistake, and what would keep the engine from starting."""
        return (*self.deployment.warnings, *speed_cautions(memory_of(self.deployment)))

    def to_polars(self) -> pl.DataFrame:
        return self.table.to_polars()

    def to_dict(self) -> dict[str, Any]:
        from bide.simulate.simulation_dict import simulation_dict

        return simulation_dict(self)


def simulate_workload(
    deployment: Deployment,
    workload: Trace | str | Path,
    rules: FleetRules | None = None,
    ways: Ways | None = None,
    progress: Callable[[float], None] = _silent,
) -> Simulation:
    """Serve `workload` (a trace, or a file of one or of a model) with a fleet of `deployment`.

    Raises BadInput for a workload that cannot be played, CannotBeMet where the deployment does not fit.
    """
    asked, fleet = ways or Ways(), rules or FleetRules()
    unknown = [name for name in asked.slo if name not in LIMITED]
    if unknown:
        raise BadInput("slo", unknown[0], _("one of {names}").format(names=", ".join(LIMITED)))
    setup = setup_of(deployment, asked.profile, asked.steps, asked.mixed_chunk)
    closed = fleet.users is not None
    trace = workload if isinstance(workload, Trace) else read_workload(workload, asked.requests, fleet.seed)
    traffic = traffic_of(trace, rate=asked.rate, scale=asked.scale, requests=asked.requests, closed=closed)
    return simulate_traffic(setup, traffic, fleet, asked, progress)


def simulate_traffic(
    setup: ReplicaSetup,
    traffic: Traffic,
    fleet: FleetRules,
    asked: Ways,
    progress: Callable[[float], None] = _silent,
) -> Simulation:
    """The same for requests and a replica that are made already. Raises CannotBeMet where it holds none of them."""
    setup = setup.reserving(asked.max_tokens or int(traffic.output_tokens.max()), asked.max_tokens is not None)
    run = run_fleet(setup, traffic, fleet, progress)
    if fleet.users is not None:
        traffic = replace(traffic, arrival_s=run.table.arrival_s)
    window = window_of(run, asked.warm_up_s)
    summary = summarise(run, window, token_gaps(setup, traffic, run, window, fleet.split), asked.slo)
    if asked.step_error:
        summary = with_step_error(summary, setup, traffic, fleet, run)
    return Simulation(setup, traffic, fleet, run, summary)
