"""The catalogue of GPUs, searched, and as plain values: the keys of `bide gpus --json`."""

from __future__ import annotations

from collections.abc import Iterable

from bide.errors import UnknownName
from bide.facts.gpus import Gpu, all_gpus, find_gpu
from bide.i18n import _
from bide.sourced import Sourced


def gpus_found(name: str | None = None, vendor: str | None = None) -> list[Gpu]:
    """Those of `vendor` that are called `name`, or have it in their id or name; all where nothing is asked.

    Raises UnknownName where there is none.
    """
    return _named(name, _of_vendor(vendor))


def gpus_dict(gpus: Iterable[Gpu]) -> dict[str, object]:
    """Each with its figures and their sources."""
    return {"gpus": [_as_dict(gpu) for gpu in gpus]}


def _of_vendor(vendor: str | None) -> list[Gpu]:
    gpus = all_gpus()
    vendors = sorted({gpu.vendor for gpu in gpus})
    if vendor is not None and vendor.lower() not in vendors:
        raise UnknownName("vendor", vendor, vendors, _("one of {names}").format(names=", ".join(vendors)))
    return [gpu for gpu in gpus if vendor is None or gpu.vendor == vendor.lower()]


def _named(name: str | None, among: list[Gpu]) -> list[Gpu]:
    """The GPU called `name` where there is one, else those with `name` in their id or name."""
    if name is None:
        return among
    try:
        gpu = find_gpu(name, "name")
    except UnknownName:
        found = [gpu for gpu in among if name.strip() and name.lower() in f"{gpu.id} {gpu.name}".lower()]
        if not found:
            raise
        return found
    if gpu not in among:
        raise UnknownName("name", name, [other.id for other in among], _("a GPU of that vendor"))
    return [gpu]


def _as_dict(gpu: Gpu) -> dict[str, object]:
    return {
        "id": gpu.id,
        "name": gpu.name,
        "vendor": gpu.vendor,
        "figures": {name: _figure_dict(figure) for name, figure in gpu.figures().items()},
        "ridge_flop_per_byte": {kind: gpu.ridge_flop_per_byte(kind) for kind in gpu.tflops},
        "link_kind": gpu.link_kind,
        "pcie_generation": gpu.pcie_generation,
        "node_gpus": gpu.node_gpus,
        "link_domain_gpus": gpu.link_domain_gpus,
        "unified_memory": gpu.unified_memory,
        "compute_capability": gpu.compute_capability,
        "prices": [
            {
                "usd_per_hour": price.usd_per_hour,
                "usd_per_hour_high": price.usd_per_hour_high,
                "provider": price.provider,
                "market": price.market,
                "source": price.source.text,
                "checked": price.source.checked or None,
                "verified": price.source.verified,
            }
            for price in gpu.prices
        ],
        "aliases": list(gpu.aliases),
        "notes": gpu.notes,
    }


def _figure_dict(figure: Sourced) -> dict[str, object]:
    source = figure.source
    return {
        "value": figure.value,
        "unit": figure.unit,
        "source": source.text,
        "checked": source.checked or None,
        "kind": source.kind,
        "verified": source.verified,
    }
