"""Accelerators: memory as the driver and the engines see it, bandwidth, peaks, links, power, prices.

The catalogue is `data/gpus/<vendor>.json`. Each figure there is `[value, source keys, remark]`, the
keys being those of `data/gpus/_sources.json`; a figure with the key UNV is not verified, and is
shown so. Vendors' gigabytes of memory are binary: an "80 GB" card has 80 GiB of chips, of which
the driver reports a little less and an engine less again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bide.errors import UnknownName
from bide.facts import catalogue
from bide.facts.gpu_names import matching, model_words
from bide.i18n import _
from bide.sourced import Source, Sourced
from bide.units import GIB, MIB

_ROOM = "gpus"
UNLISTED = "unlisted"
"""The id of hardware that no catalogue knows, a CPU for one: its pool is given, and its times are measured."""
_GB = 1e9
_SLICE = re.compile(r"\bmig\b|\b\dg\.\d+gb", re.IGNORECASE)
"""`NVIDIA H100 80GB HBM3 MIG 3g.40gb`"""


@dataclass(frozen=True, slots=True)
class Price:
    """What a provider asks for one GPU for one hour: from `usd_per_hour` to `usd_per_hour_high`."""

    usd_per_hour: float
    usd_per_hour_high: float
    provider: str
    source: Source
    market: bool = False
    """A range over many providers rather than one's offer."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator. Peaks are dense (no 2:4 sparsity), in TFLOPS by type; links are one direction.

    `memory_bytes` is the driver's total (nvidia-smi), `engine_memory_bytes` the total that engines
    printed (torch), None where none was seen. `usable_bytes` is the one to reckon with.
    """

    id: str
    name: str
    vendor: str
    memory_bytes: int
    marketing_gb: float
    bandwidth_bytes_per_s: float
    tflops: dict[str, float]
    link_bytes_per_s: float
    """One direction, between the GPUs of a node."""
    link_kind: str
    pcie_generation: int | None
    node_gpus: int
    tdp_w: float | None
    compute_capability: float | None
    prices: tuple[Price, ...]
    sources: dict[str, Source]
    """By figure: memory, engine_memory, usable, marketing, bandwidth, tflops, link, network, tdp."""
    usable_bytes: int
    """What an engine can address: as engines printed it, else estimated (`sources["usable"]` says which)."""
    engine_memory_bytes: int | None = None
    network_bytes_per_s: float | None = None
    """One direction, to other nodes, for each GPU."""
    link_domain_gpus: int = 1
    """How many GPUs reach each other over `link` (72 in an NVL72 rack of 4-GPU trays)."""
    unified_memory: bool = False
    """Shared with the CPU: the operating system takes its part."""
    aliases: tuple[str, ...] = ()
    """The names that vendors' tools print."""
    notes: str = ""

    def ridge_flop_per_byte(self, kind: str) -> float:
        """Peak over bandwidth: work with fewer FLOP per byte read is bound by memory (roofline's ridge point).

        Raises KeyError where the peak for `kind` (bf16, fp8, ...) is not known.
        """
        return self.tflops[kind] * 1e12 / self.bandwidth_bytes_per_s

    @property
    def cheapest(self) -> Price | None:
        """The lowest price of a named provider; a market range only where there is no other."""
        current = [price for price in self.prices if price.source.verified] or list(self.prices)
        return min(current, key=lambda price: (price.market, price.usd_per_hour), default=None)

    def figures(self) -> dict[str, Sourced]:
        """Every figure with its unit and source, in the order in which people ask."""
        values: dict[str, tuple[float | None, str]] = {
            "memory": (self.memory_bytes, "bytes"),
            "engine_memory": (self.engine_memory_bytes, "bytes"),
            "usable": (self.usable_bytes, "bytes"),
            "marketing": (self.marketing_gb, "GB"),
            "bandwidth": (self.bandwidth_bytes_per_s, "bytes/s"),
            **{f"tflops.{kind}": (value, "TFLOPS") for kind, value in self.tflops.items()},
            "link": (self.link_bytes_per_s, "bytes/s"),
            "network": (self.network_bytes_per_s, "bytes/s"),
            "tdp": (self.tdp_w, "W"),
        }
        return {
            name: Sourced(value, unit, self.sources[name.partition(".")[0]])
            for name, (value, unit) in values.items()
            if value is not None
        }


def all_gpus() -> tuple[Gpu, ...]:
    """The whole catalogue, in its order."""
    return tuple(_gpu(gpu_id) for gpu_id in catalogue.records(_ROOM))


def find_gpu(name: object, field: str = "gpu") -> Gpu:
    """The GPU called `name`: an id, a name that a tool prints, or a common spelling.

    A spelling that leaves something open means the commonest part (`"H100"` the SXM card).
    Raises UnknownName, with the nearest names, for anything else.

    >>> find_gpu("NVIDIA H100 80GB HBM3").id, find_gpu("rtx 4090").id, find_gpu("6000 ada").id
    ('h100-sxm', 'rtx-4090', 'rtx-6000-ada')
    """
    if isinstance(name, str) and name.strip().lower() == UNLISTED:
        return _unlisted()
    gpu_id = _id_of(name) if isinstance(name, str) else None
    if gpu_id is not None:
        return _gpu(gpu_id)
    known = catalogue.records(_ROOM)
    names = [*known, *(word for record in known.values() for word in model_words(record["words"]))]
    raise UnknownName(field, name, names, _("a GPU of the catalogue (`bide gpus` lists it)"), _hint(name))


def _hint(name: object) -> str:
    """What to do about a slice of a card, which the catalogue has not."""
    if not isinstance(name, str) or not _SLICE.search(name):
        return ""
    return _(
        "MIG slices are not in the catalogue: name the whole card and the slice's pool (pool_bytes_per_gpu); times are "
        "the whole card's"
    )


@lru_cache(maxsize=1)
def _unlisted() -> Gpu:
    """A stand-in whose figures are of no use: with it the pool must be given and a profile must say the times."""
    unknown = Source("not known", kind="assumed", verified=False)
    names = ("memory", "usable", "marketing", "bandwidth", "tflops", "link")
    return Gpu(
        id=UNLISTED,
        name="unlisted hardware",
        vendor="",
        memory_bytes=64 * GIB,
        marketing_gb=64,
        bandwidth_bytes_per_s=100 * _GB,
        tflops={"bf16": 1.0},
        link_bytes_per_s=_GB,
        link_kind="",
        pcie_generation=None,
        node_gpus=1,
        tdp_w=None,
        compute_capability=None,
        prices=(),
        sources=dict.fromkeys(names, unknown),
        usable_bytes=64 * GIB,
    )


@lru_cache(maxsize=1024)
def _id_of(name: str) -> str | None:
    known = catalogue.records(_ROOM)
    exact = [gpu_id for gpu_id, record in known.items() if name.lower() in (gpu_id, record["name"].lower())]
    found = exact or matching(name, {gpu_id: record["words"] for gpu_id, record in known.items()})
    return found[0] if found else None


@lru_cache(maxsize=128)
def _gpu(gpu_id: str) -> Gpu:
    record = catalogue.records(_ROOM)[gpu_id]
    memory_bytes, memory_source = _driver_memory(record)
    engine = record.get("engine_memory_gib")
    engine_bytes = round(engine[0] * GIB) if engine else None
    usable_bytes, usable_source = _usable(record)
    sources = {name: source_of(record[key]) for name, key in _SOURCED.items() if key in record}
    network = record.get("network_gb_s")
    return Gpu(
        id=gpu_id,
        name=record["name"],
        vendor=record["vendor"],
        memory_bytes=memory_bytes,
        marketing_gb=record["marketing_gb"][0],
        bandwidth_bytes_per_s=record["bandwidth_gb_s"][0] * _GB,
        tflops=record["tflops"][0],
        link_bytes_per_s=record["link"][0] * _GB,
        link_kind=record["link_kind"],
        pcie_generation=record.get("pcie"),
        node_gpus=record["node_gpus"],
        tdp_w=record["tdp_w"][0] if "tdp_w" in record else None,
        compute_capability=record.get("compute_capability"),
        prices=tuple(_price(entry) for entry in record.get("prices", ())),
        sources={"memory": memory_source, "usable": usable_source, **sources},
        usable_bytes=usable_bytes,
        engine_memory_bytes=engine_bytes,
        network_bytes_per_s=network[0] * _GB if network else None,
        link_domain_gpus=record["link_domain_gpus"] if "link_domain_gpus" in record else record["node_gpus"],
        unified_memory=record.get("unified", False),
        aliases=tuple(record.get("aliases", ())),
        notes=record.get("notes", ""),
    )


_SOURCED = {
    "engine_memory": "engine_memory_gib",
    "marketing": "marketing_gb",
    "bandwidth": "bandwidth_gb_s",
    "tflops": "tflops",
    "link": "link",
    "network": "network_gb_s",
    "tdp": "tdp_w",
}


def source_of(figure: list[Any]) -> Source:
    """The Source of a `[value, keys, remark]` figure: the first key's date and kind, every key's text."""
    keys = figure[1].split(",")
    remark = figure[2] if len(figure) > 2 else ""
    known = catalogue.table(f"{_ROOM}/_sources.json")["sources"]
    (first, checked, kind), *others = (known[key] for key in keys)
    others_dated = [f"{place} ({date})" if date else place for place, date, _kind in others]
    return Source("; ".join(filter(None, (first, *others_dated, remark))), checked, kind, verified="UNV" not in keys)


def _price(entry: list[Any]) -> Price:
    low, high, provider, keys, *flags = entry
    source = source_of([low, keys])
    if "stale" in flags:
        source = Source(source.text + "; looks stale", source.checked, source.kind, verified=False)
    return Price(low, high, provider, source, market="market" in flags)


def _driver_memory(record: catalogue.Record) -> tuple[int, Source]:
    """The driver's total, or where nobody has shown it the marketing size read as GiB, marked so."""
    if "memory_mib" in record:
        return record["memory_mib"][0] * MIB, source_of(record["memory_mib"])
    size = record["marketing_gb"][0]
    return round(size * GIB), Source(f"marketing size of {size} GB read as GiB", kind="derived", verified=False)


def _usable(record: catalogue.Record) -> tuple[int, Source]:
    """What engines printed; else the driver's total times the ratio of the vendor's card nearest in size."""
    if "engine_memory_gib" in record:
        figure = record["engine_memory_gib"]
        return round(figure[0] * GIB), source_of(figure)
    memory_bytes, source = _driver_memory(record)
    seen = [(_driver_memory(other)[0], other) for other in catalogue.records(_ROOM).values() if _shows(other, record)]
    if not seen:
        text = f"{source.text}; no engine seen on a card of this vendor"
        return memory_bytes, Source(text, source.checked, "derived", verified=False)
    near_bytes, near = min(seen, key=lambda pair: (abs(pair[0] - memory_bytes), pair[1]["engine_memory_gib"][0]))
    ratio = near["engine_memory_gib"][0] * GIB / near_bytes
    text = f"driver's total x {ratio:.4f}, the ratio seen on {near['id']}"
    return int(memory_bytes * ratio), Source(text, kind="derived", verified=False)


def _shows(other: catalogue.Record, record: catalogue.Record) -> bool:
    """Whether `other` can tell what an engine would see on `record`'s card."""
    same = other["vendor"] == record["vendor"] and other.get("unified", False) == record.get("unified", False)
    return same and "engine_memory_gib" in other
