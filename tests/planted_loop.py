"""bench -> calibrate -> plan -> bench, on the planted server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bide.bench.result import Cell
from bide.calibrate.calibration import Calibration, calibrate
from bide.facts.deployment import Deployment
from bide.physics.own import StepLaw
from bide.plan.option import Option
from bide.plan.search import plan
from bide.plan.service_file import read_question
from law_server import law_served
from planted_law import DEPLOYMENT, LAW, learned_from, measured, service_file, truth, unseen

PEAK_RPS, PATIENCE_S, REQUESTS = 24.0, 1.6, 60


@dataclass(frozen=True, slots=True)
class Loop:
    """What was learned, what was planned with it, and what the plan's own load then did."""

    calibration: Calibration
    option: Option
    cell: Cell
    steps: list[dict[str, Any]]
    """Of that load, as the server took them."""

    @property
    def law(self) -> StepLaw:
        own = self.calibration.profile.own
        assert own is not None
        assert own.law is not None
        return own.law


def run_loop(folder: Path) -> Loop:
    """All of it, with its files in `folder`."""
    with law_served(DEPLOYMENT, LAW) as url:
        journals = learned_from(url, folder)
        # force: a busy machine makes the client late now and then, and the fit must bear it
        found = calibrate(journals, Deployment.resolve(DEPLOYMENT), step_law="affine", force=True)
        option = _planned(found, folder)
        before = len(truth(url)["steps"])
        cell = measured(url, unseen(PEAK_RPS / option.replicas, REQUESTS), folder / "planned.jsonl", seed=9)
        return Loop(found, option, cell, truth(url)["steps"][before:])


def _planned(found: Calibration, folder: Path) -> Option:
    profile, asked = folder / "profile.json", folder / "service.yaml"
    found.save(profile)
    asked.write_text(service_file(PEAK_RPS, f"{PATIENCE_S}s"))
    (service,) = plan(read_question(asked), profile=profile).services
    assert service.chosen is not None
    return service.chosen
