"""A service file opened in the form: every value at its control, or an error with its line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from bide.errors import BadInput, UnknownName
from bide.i18n import _
from bide.located import Located, parse_yaml
from bide.plan.asked.patience import read_patience
from bide.web.page import plan_checks, plan_limits
from bide.web.page.plan_fields import (
    KEYS,
    MOST_LIMITS,
    MOST_RESULTS,
    MOST_SERVICES,
    SERVICE_FIELDS,
    SERVICE_NAMES,
    SHARED_FIELDS,
    Field,
    at,
)
from bide.web.samples import samples
from bide.web.uploads import harmless

LARGEST_BYTES = 50_000
_ANY_ROWS = 10**9
"""A workload's rows are not looked at here: the plan does."""
_FREE = ("patience", "deployment", "lengths", "prices")
"""Whose keys are read with their values."""
_WORKLOADS = ("lengths", "trace", "file")
_SPECIAL = ("model", *(f"workload.{kind}" for kind in _WORKLOADS), "traffic.peak_rps", "traffic.window", "patience",
            "measured")  # fmt: skip
"""Paths that take several controls."""
_PATHS = (*(each.path for each in SERVICE_FIELDS), *_SPECIAL)
"""All that a service may have here."""
_MEASURED = ("results", "gpu", "deployment")
_CHECKS = {key.name: key.check for key in KEYS}


@dataclass(frozen=True, slots=True)
class Known:
    """What this form has of files that a service file may name: uploads' numbers and packed configs, by name."""

    uploads: Mapping[str, str] = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)

    def number_of(self, path: str) -> str:
        """Of the upload that the last part of a path names; empty where there is none."""
        return self.uploads.get(harmless(path), "")


@dataclass(frozen=True, slots=True)
class Opened:
    """`values` for every input of the form; `missing`: those whose files are still to be dropped."""

    values: Mapping[str, str]
    missing: tuple[str, ...]


def opened(text: str, known: Known) -> Opened:
    """The form for the text of a service file. Raises BadInput with the line of what cannot be read or held."""
    data = text.encode("utf-8", "replace")
    if not data.strip() or len(data) > LARGEST_BYTES:
        allowed = _("a service file of at most {n} kB").format(n=LARGEST_BYTES // 1000)
        raise BadInput("file", _("a file"), allowed, _("as `bide plan` reads it, and this form writes it"))
    root = parse_yaml(data, Path("service.yaml"))
    return form_of(root, known)


def form_of(root: Located, known: Known = Known()) -> Opened:
    """The same for a file that has been read."""
    keys = root.mapping(("services", "hardware", "fleet"), ("services", "hardware"))
    entries = list(keys["services"].items())
    if len(entries) > MOST_SERVICES:
        raise keys["services"].bad(_("at most {n} services here").format(n=MOST_SERVICES))
    values = {key.name: key.default for key in KEYS} | {"model": "", "config": ""}
    missing: list[str] = []
    shared = Located({name: item for name, item in keys.items() if name != "services"}, "", 0)
    _check_keys(shared, "", (*(each.path for each in SHARED_FIELDS), "hardware.prices"))
    values |= _simple(root, SHARED_FIELDS)
    prices = _found(root, "hardware.prices")
    if prices is not None:
        values["prices"] = _checked("prices", prices, _prices)
    for place, entry in enumerate(entries, 1):
        made = _Service(entry, known)
        values |= {at(name, place): text for name, text in made.values().items()}
        missing += [at(name, place) for name in made.missing]
    return Opened(values, tuple(missing))


def _check_keys(item: Located, path: str, paths: Collection[str]) -> None:
    """Refuse a key that leads to none of the paths, with those that do."""
    if not isinstance(item.value, dict):
        if path:
            raise item.bad(_("a mapping"))
        return
    for key, value in item.value.items():
        here = f"{path}.{key}" if path else key
        if here in paths or here in _FREE:
            continue
        if not any(one.startswith(f"{here}.") for one in paths):
            names = sorted({one[len(path) :].lstrip(".").partition(".")[0] for one in paths if one.startswith(path)})
            allowed = _("one of {keys}").format(keys=", ".join(names))
            raise UnknownName(value.path, key, names, allowed, value.where)
        _check_keys(value, here, paths)


def _simple(root: Located, fields: Iterable[Field]) -> dict[str, str]:
    """What single controls say."""
    found = {}
    for each in fields:
        item = _found(root, each.path)
        if item is not None:
            found[each.key] = _checked(each.key, item, each.read)
    return found


def _found(root: Located, path: str) -> Located | None:
    """What a path leads to."""
    item: Located | None = root
    for name in path.split("."):
        item = item.value.get(name) if item is not None and isinstance(item.value, dict) else None
    return item


def _checked(key: str, item: Located, read: Callable[[Any], str]) -> str:
    """The control's text for a value, checked as if it had been typed; an error is one of the value, with its line."""

    def look() -> str:
        value = item.plain()
        try:
            return _CHECKS[key](read(value))
        except BadInput as error:
            raise BadInput(item.path, value, error.allowed, error.hint) from None
        except (ValueError, TypeError):
            raise BadInput(item.path, value, _("what this form can hold")) from None

    return item.at(look)


def _prices(value: Any) -> str:
    return ",".join(f"{gpu}:{price}" for gpu, price in value.items())


class _Service:
    """One entry of `services`, read into the inputs of a service."""

    def __init__(self, entry: Located, known: Known) -> None:
        parts = dict.fromkeys(path.partition(".")[0] for path in _PATHS)
        entry.mapping(parts, ("name", "model", "workload", "traffic"))
        _check_keys(entry, "", _PATHS)
        self._entry, self._known = entry, known
        self.missing: list[str] = []

    def values(self) -> dict[str, str]:
        """All of them, also those that the file leaves out."""
        found = {key.name: key.default for key in KEYS if key.name in SERVICE_NAMES} | {"config": ""}
        found |= _simple(self._entry, SERVICE_FIELDS) | self._model() | self._workload() | self._peak()
        return found | self._patience() | self._knobs() | self._measured()

    def _model(self) -> dict[str, str]:
        item = self._entry.value["model"]
        name = item.text()
        if not name.startswith((".", "/", "~")):
            return {"model": name}
        stem = PurePosixPath(name).name.removesuffix(".json")
        config = self._known.configs.get(stem, "")
        if not config:
            self.missing.append("config")
        return {"model": stem, "config": config}

    def _workload(self) -> dict[str, str]:
        item = self._entry.value["workload"]
        kinds = [kind for kind in _WORKLOADS if kind in (item.value or ())]
        if len(kinds) != 1:
            raise item.bad(_("either a trace or lengths, or a file that describes a workload"))
        if kinds == ["lengths"]:
            return {"work": "lengths", **dict(self._lengths(item.value["lengths"]))}
        return self._file(item.value[kinds[0]], kinds[0])

    def _lengths(self, item: Located) -> Iterator[tuple[str, str]]:
        for side, given in item.mapping(("prompt", "output"), ("prompt", "output")).items():
            if isinstance(given.value, dict) and set(given.value) == {"p50", "p95"}:
                for figure, value in given.value.items():
                    yield f"{side}_{figure}", _checked(f"{side}_{figure}", value, str)
            else:
                yield f"{side}_by", _checked(f"{side}_by", given, _written)

    def _file(self, item: Located, kind: str) -> dict[str, str]:
        path = item.path_text()
        plain = PurePosixPath(path).name.removesuffix(".gz")
        sample = next((each.name for each in samples() if each.file.removesuffix(".gz") == plain), None)
        if sample is not None and kind == "trace":
            return {"work": "sample", "sample": sample}
        return {"work": kind, **self._dropped("trace", [item])}

    def _dropped(self, key: str, files: Sequence[Located]) -> dict[str, str]:
        """Files by the numbers of those that are here; the others are awaited under the names that the file has."""
        awaited, numbers = list[str](), list[str]()
        for path in dict.fromkeys(each.path_text() for each in files):
            number = self._known.number_of(path)
            if number and number not in numbers:
                numbers.append(number)
            else:
                awaited.append(path)
        if awaited:
            self.missing.append(key)
        return {key: ",".join(numbers), f"{key}_awaited": "\n".join(awaited)}

    def _peak(self) -> dict[str, str]:
        window, peak = (_found(self._entry, f"traffic.{key}") for key in ("window", "peak_rps"))
        if peak is None:
            raise self._entry.value["traffic"].bad(_("peak_rps"))
        found = {} if window is None else {"window": _checked("window", window, str)}
        key = "peak_from" if peak.value in ("trace", "observed") else "peak_rps"
        return found | {key: _checked(key, peak, str)}

    def _patience(self) -> dict[str, str]:
        item = self._entry.value.get("patience")
        (limits, goodput), _assumed = read_patience(item, _ANY_ROWS, "")
        if len(limits) > MOST_LIMITS:
            raise item.bad(_("at most {n} limits here").format(n=MOST_LIMITS))
        return plan_limits.controls_of(limits, goodput)

    def _knobs(self) -> dict[str, str]:
        item = self._entry.value.get("deployment")
        if item is None:
            return {}
        others = {key: value for key, value in item.mapping((*plan_checks.OWN_CONTROLS, *plan_checks.KNOBS)).items()
                  if key not in plan_checks.OWN_CONTROLS}  # fmt: skip
        return {"knobs": _checked("knobs", Located(others, item.path, item.line), plan_checks.flow)} if others else {}

    def _measured(self) -> dict[str, str]:
        item = self._entry.value.get("measured")
        if item is None:
            return {}
        keys = item.mapping(_MEASURED, _MEASURED[:1]) if isinstance(item.value, dict) else {"results": item}
        results = keys["results"]
        files = list(results.items()) if isinstance(results.value, list) else [results]
        if len(files) > MOST_RESULTS:
            raise results.bad(_("at most {n} files here").format(n=MOST_RESULTS))
        found = self._dropped("measured", files)
        if "gpu" in keys:
            found["measured_gpu"] = _checked("measured_gpu", keys["gpu"], str)
        if "deployment" in keys:
            found["measured_as"] = _checked("measured_as", keys["deployment"], plan_checks.flow)
        return found


def _written(value: Any) -> str:
    return plan_checks.flow(value) if isinstance(value, dict) else str(value)
