"""What a plan's form asks, as a service file would: for a job of the server, or for a file to keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from bide.i18n import _
from bide.web.page import plan_limits
from bide.web.page.deployment_form import profile_ask
from bide.web.page.models import asked_model
from bide.web.page.plan_checks import flow_mapping, lengths_value, priced
from bide.web.page.plan_fields import SERVICE_FIELDS, SHARED_FIELDS, Field, listed, number, of_service, places
from bide.web.samples import samples

Values = Mapping[str, str]
_FILES = ["html", "csv", "manifests", "view"]
_PARTS = ("name", "model", "workload", "traffic", "patience", "deployment", "disaggregated", "api_price", "measured")
"""Of a service, in the order of a file."""


class Names(Protocol):
    """How files are named."""

    def model(self, values: Values) -> Any:
        """That of a service."""

    def trace(self, values: Values) -> Any:
        """The trace, sample or workload file of a service; None where none was given."""

    def results(self, values: Values) -> list[Any]:
        """The benchmarks of a service."""


class Sent:
    """As a job of the server has them."""

    def model(self, values: Values) -> Any:
        return asked_model(values)

    def trace(self, values: Values) -> Any:
        if values["work"] == "sample":
            return {"sample": values["sample"]}
        return {"upload": values["trace"]} if values["trace"] else None

    def results(self, values: Values) -> list[Any]:
        return [{"upload": number} for number in listed(values["measured"])]


class Kept:
    """As a service file has them: beside it, under the names of what was dropped. `remarks` says what to put there."""

    def __init__(self, uploads: Mapping[str, str]) -> None:
        """`uploads`: the names of files by their numbers."""
        self._uploads, self.remarks = uploads, dict[str, str]()

    def model(self, values: Values) -> Any:
        if not values["config"]:
            return values["model"]
        return self._file(f"{values['model'].rpartition('/')[2]}.json", _("the config.json that was dropped"))

    def trace(self, values: Values) -> Any:
        if values["work"] == "sample":
            file = next(each.file for each in samples() if each.name == values["sample"])
            return self._file(file, _("the sample {name} of bide").format(name=values["sample"]))
        if values["trace"]:
            return self._file(self._uploads.get(values["trace"], "trace.csv"), _("the file that was dropped"))
        return values["trace_awaited"] or self._file("trace.csv", _("a file that was not given yet"))

    def results(self, values: Values) -> list[Any]:
        named = [(number, self._uploads.get(number, f"measured-{number}")) for number in listed(values["measured"])]
        dropped = [self._file(name, _("a benchmark that was dropped")) for _number, name in named]
        return [*dropped, *values["measured_awaited"].splitlines()]

    def _file(self, name: str, what: str) -> str:
        self.remarks[name] = what
        return f"./{name}"


def plan_ask(values: Values) -> dict[str, Any]:
    """The body of a plan job."""
    return {**content(values, Sent()), **profile_ask(values), "files": _FILES}


def content(values: Values, names: Names) -> dict[str, Any]:
    """The content of the service file."""
    services = [_service(of_service(values, place), names) for place in places(values)]
    shared: dict[str, Any] = {"hardware": {}}
    _write(shared, SHARED_FIELDS, values)
    if values["prices"]:
        shared["hardware"]["prices"] = {gpu: number(price) for gpu, price in priced(values["prices"]).items()}
    return {"services": services, **shared}


def file_text(values: Values, uploads: Mapping[str, str]) -> str:
    """The service file, to be read by `bide plan` and by this form."""
    import yaml

    names = Kept(uploads)
    made = content(values, names)
    text: str = yaml.safe_dump(made, sort_keys=False, allow_unicode=True, width=118, default_flow_style=None)
    said = [_("bide plan service.yaml")]
    said += [_("Beside this file: {name}, {what}").format(name=name, what=what) for name, what in names.remarks.items()]
    return "".join(f"# {' '.join(line.split())}\n" for line in said) + text


def _service(values: Values, names: Names) -> dict[str, Any]:
    found: dict[str, Any] = {"workload": _workload(values, names), "traffic": {"peak_rps": _peak(values)}}
    if values["peak_from"] == "trace" and values["window"]:
        found["traffic"]["window"] = f"{values['window']}s"
    _write(found, SERVICE_FIELDS, values)
    found["deployment"] |= flow_mapping(values["knobs"], "knobs") if values["knobs"] else {}
    found |= {"model": names.model(values), "patience": plan_limits.patience(values)}
    found |= _measured(values, names)
    return {part: found[part] for part in _PARTS if part in found}


def _measured(values: Values, names: Names) -> dict[str, Any]:
    """Nothing where no benchmark is given: what it was measured on says nothing then."""
    found: dict[str, Any] = {"results": names.results(values)}
    if not found["results"]:
        return {}
    if values["measured_gpu"]:
        found["gpu"] = values["measured_gpu"]
    if values["measured_as"]:
        found["deployment"] = flow_mapping(values["measured_as"], "measured_as")
    return {"measured": found}


def _write(into: dict[str, Any], fields: Iterable[Field], values: Values) -> None:
    """The values of single controls, each at its place."""
    for field in fields:
        text = values[field.key]
        if field.always or text != field.default:
            *parents, last = field.path.split(".")
            place = into
            for name in parents:
                place = place.setdefault(name, {})
            place[last] = field.write(text)


def _peak(values: Values) -> Any:
    return values["peak_from"] or number(values["peak_rps"])


def _workload(values: Values, names: Names) -> dict[str, Any]:
    if values["work"] == "lengths":
        return {"lengths": {side: _lengths(values, side) for side in ("prompt", "output")}}
    return {"file" if values["work"] == "file" else "trace": names.trace(values)}


def _lengths(values: Values, side: str) -> Any:
    """By a median and a 95th percentile, or by what was written instead."""
    if values[f"{side}_by"]:
        return lengths_value(values[f"{side}_by"])
    return {figure: int(values[f"{side}_{figure}"]) for figure in ("p50", "p95")}
