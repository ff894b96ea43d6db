"""The job `plan`: the fleet for the content of a service file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.i18n import _
from bide.web.answers import profile_path
from bide.web.names import FILE, check_model_name, config_of
from bide.web.task_files import check_description, upload_form, write_files, write_view

if TYPE_CHECKING:
    from bide.plan.answer import Plan

_QUESTION = ("services", "hardware", "fleet")
_SEARCHING = 0.95
"""Share of the time that goes into the search."""


def planned(ask: Mapping[str, Any], hub: bool, tell: Callable[..., None], out: Path) -> Mapping[str, Any]:
    """The keys of `bide plan --json`; `feasible` says whether the patience can be kept."""
    from bide.plan.as_dict import plan_dict
    from bide.plan.search import plan
    from bide.plan.service_file import question_from
    from bide.report.plan_progress import best_so_far
    from bide.runners import serial

    given = {key: ask[key] for key in _QUESTION if key in ask}
    services = [_service(service, hub, f"services[{place}]") for place, service in enumerate(ask["services"])]
    question = question_from({**given, "services": services}, Path("service.yaml"))
    tell(0.0, _("planning"))
    made = plan(question, serial, profile_path(ask), lambda at: tell(_SEARCHING * at.done / at.total, best_so_far(at)))
    tell(_SEARCHING, _("drawing the report"))
    _write(made, ask.get("files", ()), out)
    return plan_dict(made)


def _service(service: Mapping[str, Any], hub: bool, field: str) -> dict[str, Any]:
    """The service as its file would have it: names and paths in this folder in the place of what was sent."""
    model = _model(service["model"], hub, f"{field}.model")
    made = {**service, "model": model, "workload": _workload(service["workload"], f"{field}.workload")}
    if "measured" in service:
        measured = service["measured"]
        made["measured"] = {**measured, "results": [each[FILE] for each in measured["results"]]}
    return made


def _model(given: object, hub: bool, field: str) -> str:
    """A name; a config's content is put into a folder that is called as the model."""
    if not isinstance(given, Mapping):
        return check_model_name(given, hub, field)
    config, name, quantisation = config_of(given)
    folder = Path(name.replace("/", "_"))
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if quantisation is not None:
        (folder / "hf_quant_config.json").write_text(json.dumps(quantisation), encoding="utf-8")
    return f"./{folder}"


def _workload(given: Mapping[str, Any], field: str) -> dict[str, Any]:
    """With the names of the files; raises BadInput for a path."""
    made = dict(given)
    for key in ("trace", "file"):
        if key not in made:
            continue
        if not (isinstance(made[key], Mapping) and FILE in made[key]):
            raise BadInput(f"{field}.{key}", made[key], upload_form())
        made[key] = made[key][FILE]
        if key == "file":
            check_description(Path(made[key]), f"{field}.{key}")
    return made


def _write(made: Plan, wanted: list[str], out: Path) -> None:
    from bide.report.handover import handover
    from bide.report.plan_csv import fleets_csv, frontier_csv
    from bide.report.plan_html import plan_html
    from bide.report.plan_markdown import plan_markdown
    from bide.report.plan_shown import plan_shown

    write_files(wanted, {"html": lambda: plan_html(made), "md": lambda: plan_markdown(made)}, out)
    if "view" in wanted:
        write_view(plan_shown(made), out)
    for name, text in {"frontier": frontier_csv(made), "fleets": fleets_csv(made)}.items() if "csv" in wanted else ():
        (out / f"{name}.csv").write_text(text, encoding="utf-8")
    for each in handover(made) if "manifests" in wanted else ():
        folder = out / each.name
        folder.mkdir()
        for name, text in each.files.items():
            (folder / name).write_text(text, encoding="utf-8")
