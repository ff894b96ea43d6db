"""How traffic rises and falls over a day, where it was published: from `data/traffic/diurnal.json`."""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.catalogue import records
from bide.sourced import Source


@dataclass(frozen=True, slots=True)
class DayCurve:
    """The mean rate in each hour of a day, from midnight, as a share of the busiest hour (24 values, the largest 1).

    `clock` is whose midnight: `UTC`, or `local` to those who sent the requests.
    """

    id: str
    about: str
    clock: str
    hours: tuple[float, ...]
    source: Source


def day_curves() -> dict[str, DayCurve]:
    """All of them, by id."""
    return {name: _curve(name) for name in records("traffic")}


def _curve(name: str) -> DayCurve:
    record = records("traffic")[name]
    source = Source(record["source"], record["checked"], record["kind"])
    return DayCurve(name, record["about"], record["clock"], tuple(record["hours"]), source)
