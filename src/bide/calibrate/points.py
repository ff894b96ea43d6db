"""Measured runs as a flat table: one row a point, with its source; and the same as values to fit to."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.simulate.operating import Load, LoadKind, Mix

COLUMNS = (
    "curve",
    "suite",
    "model",
    "gpu",
    "tp",
    "pp",
    "dp",
    "ep",
    "engine",
    "engine_version",
    "weights",
    "kv_dtype",
    "gpu_memory_utilization",
    "prompt_tokens",
    "output_tokens",
    "load",
    "load_value",
    "ttft_s",
    "tpot_s",
    "e2e_s",
    "output_tokens_per_s",
    "left_out",
    "source",
    "licence",
)
_WHOLE = ("tp", "pp", "dp", "ep")
OBSERVED = ("ttft_s", "tpot_s", "e2e_s", "output_tokens_per_s")


@dataclass(frozen=True, eq=False)
class Measured:
    """One measured point. `observed` holds what was measured; `left_out` says why it is not fitted to, if so."""

    curve: str
    suite: str
    deployment: Deployment
    stated: bool
    """Whether the source says the engine's version."""
    mix: Mix
    load: Load
    observed: Mapping[str, float]
    left_out: str
    source: str
    licence: str

    @property
    def model(self) -> str:
        """Its name without the organisation."""
        return self.deployment.model.name.rsplit("/", 1)[-1]

    @property
    def gpu(self) -> str:
        """Its name in the catalogue."""
        return self.deployment.gpu.id if self.deployment.gpu else ""


def read_points(path: Path) -> list[Measured]:
    """The rows of a table with the columns above.

    Raises BadInput naming the row's field for what cannot be read.
    """
    resolved: dict[tuple[object, ...], Deployment] = {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != COLUMNS:
            raise BadInput("columns", rows.fieldnames, _("the columns {names}").format(names=", ".join(COLUMNS)))
        return [_measured(row, resolved) for row in rows]


def _measured(row: Mapping[str, str], resolved: dict[tuple[object, ...], Deployment]) -> Measured:
    raw = _raw(row)
    key = tuple(raw.items())
    if key not in resolved:
        resolved[key] = Deployment.resolve(raw)
    return Measured(
        curve=row["curve"],
        suite=row["suite"],
        deployment=resolved[key],
        stated=bool(row["engine_version"]),
        mix=Mix(_number(row, "prompt_tokens"), _number(row, "output_tokens")),
        load=Load(_kind(row["load"]), _number(row, "load_value")),
        observed={name: _number(row, name) for name in OBSERVED if row[name]},
        left_out=row["left_out"],
        source=row["source"],
        licence=row["licence"],
    )


def _raw(row: Mapping[str, str]) -> dict[str, object]:
    """The deployment's keys that the row states."""
    raw: dict[str, object] = {name: int(_number(row, name)) for name in _WHOLE}
    for name in ("model", "gpu", "engine", "engine_version", "weights", "kv_dtype"):
        if row[name]:
            raw[name] = row[name]
    if row["gpu_memory_utilization"]:
        raw["gpu_memory_utilization"] = _number(row, "gpu_memory_utilization")
    return raw


def _number(row: Mapping[str, str], name: str) -> float:
    """A finite number above 0."""
    try:
        number = float(row[name])
    except (TypeError, ValueError):
        number = 0.0
    if not 0 < number < float("inf"):
        raise BadInput(name, row[name], _("a number above 0 (curve {curve})").format(curve=row["curve"]))
    return number


def _kind(name: str) -> LoadKind:
    kinds: tuple[LoadKind, ...] = get_args(LoadKind)
    if name not in kinds:
        raise BadInput("load", name, _("one of {names}").format(names=", ".join(kinds)))
    return name
