"""The jobs that read what was measured: calibrate, compare, measure, describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bide.bench.formats.values import Run
from bide.errors import BadInput
from bide.facts.models import find
from bide.i18n import _
from bide.web.answers import deployment_keys, profile_path
from bide.web.names import FILE
from bide.web.task_files import workload_file, write_files, write_view

Tell = Callable[..., None]


def calibrated(ask: Mapping[str, Any], hub: bool, tell: Tell, out: Path) -> Mapping[str, Any]:
    """The keys of `bide calibrate --json`; the profile is left as `profile.json`."""
    from bide.calibrate.calibration import calibrate
    from bide.calibrate.logs import read_log
    from bide.calibrate.stated import stated_deployment
    from bide.report import calibrate_files as files
    from bide.report.measured_shown import calibration_shown

    runs, log = _runs(ask), read_log(Path(ask["log"][FILE])) if "log" in ask else None
    if not runs and log is None:
        raise BadInput("results", None, _("a measured result, or an engine's log"))
    if log is not None and not _known(str(log.settings.get("model", ""))):
        log = replace(log, settings={key: value for key, value in log.settings.items() if key != "model"})
    given = deployment_keys(ask.get("deployment", {}), hub)
    tell(None, _("fitting"))
    made = calibrate(
        runs,
        stated_deployment(given, runs, log, _known),
        profile=profile_path(ask),
        step_law=ask.get("step_law", "roofline"),
        log=log,
        force=ask.get("force", False),
        name=ask.get("name", ""),
    )
    made.save(out / "profile.json")
    makers: dict[str, Callable[[], str | bytes]] = {
        "html": lambda: files.calibrate_page(made),
        "md": lambda: files.calibrate_markdown(made),
        "csv": lambda: files.calibrate_csv(made),
    }
    write_files(ask.get("files", ()), makers, out)
    if "view" in ask.get("files", ()):
        write_view(calibration_shown(made), out)
    return made.to_dict()


def _known(name: str) -> bool:
    """A name of the catalogue: what a file calls its model is often a path on its own machine."""
    return not name.startswith((".", "/", "~")) and not name.endswith(".json") and find(name) is not None


def compared(ask: Mapping[str, Any], hub: bool, tell: Tell, out: Path) -> Mapping[str, Any]:
    """The keys of `bide compare --json`."""
    from bide.calibrate.comparing import compare
    from bide.facts.deployment import Deployment
    from bide.facts.layout import laid_out
    from bide.report import compare_files as files
    from bide.report.measured_shown import comparison_shown

    if ("b" in ask) == ("deployment" in ask):
        raise BadInput("b", None, _("either a second file or a deployment"))
    other = Path(ask["b"][FILE]) if "b" in ask else None
    b = other or Deployment.resolve(laid_out(deployment_keys(ask["deployment"], hub)))
    made = compare(Path(ask["a"][FILE]), b, profile=profile_path(ask))
    makers: dict[str, Callable[[], str | bytes]] = {
        "html": lambda: files.compare_page(made),
        "md": lambda: files.compare_markdown(made),
        "csv": lambda: files.compare_csv(made),
    }
    write_files(ask.get("files", ()), makers, out)
    if "view" in ask.get("files", ()):
        write_view(comparison_shown(made), out)
    return made.to_dict()


def measured(ask: Mapping[str, Any], hub: bool, tell: Tell, out: Path) -> Mapping[str, Any]:
    """Every level of load in the files, with its percentiles."""
    from bide.bench.formats.as_dict import run_dict
    from bide.report.measured_shown import runs_shown

    runs = _runs(ask)
    if "view" in ask.get("files", ()):
        write_view(runs_shown(runs), out)
    return {"runs": [run_dict(run) for run in runs]}


def _runs(ask: Mapping[str, Any]) -> list[Run]:
    from bide.bench.formats.reading import read_runs

    return [run for each in ask.get("results", ()) for run in read_runs(Path(each[FILE]))]


def described(ask: Mapping[str, Any], hub: bool, tell: Tell, out: Path) -> Mapping[str, Any]:
    """The keys of `bide workload describe --json`."""
    from bide.report import workload_files as files
    from bide.report import workload_page as page
    from bide.report.workload_answer import workload_dict, workload_said
    from bide.workload.reading.asking import Ask

    said = workload_said([workload_file(ask["workload"])], Ask(spread_ticks=not ask.get("keep_ticks", False)))
    makers: dict[str, Callable[[], str | bytes]] = {
        "html": lambda: page.workload_page(said),
        "md": lambda: files.workload_markdown(said),
        "png": lambda: page.workload_png(said),
        "svg": lambda: page.workload_svg(said),
    }
    write_files(ask.get("files", ()), makers, out)
    return workload_dict(said)
