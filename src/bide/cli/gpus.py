"""`bide gpus`: the accelerators bide knows, and where each figure comes from."""

from __future__ import annotations

import click

from bide.cli.options import json_option
from bide.cli.output import print_json, print_table, say
from bide.errors import UnknownName
from bide.facts.gpus import Gpu, all_gpus, find_gpu
from bide.i18n import _
from bide.sourced import Sourced
from bide.units import GIB, format_gib


@click.command(help=_("The catalogue of accelerators. NAME: one, with every figure's source; or text to search for."))
@click.argument("name", required=False)
@click.option("--vendor", metavar="VENDOR", help=_("Only this vendor's (nvidia, amd, intel, google, aws, apple)."))
@json_option
def command(name: str | None, vendor: str | None, as_json: bool) -> None:
    """Print one GPU with its sources, or a table of those that fit."""
    found = _search(name, _of_vendor(vendor))
    if as_json:
        print_json("gpus", {"gpus": [_as_dict(gpu) for gpu in found]})
    elif name and len(found) == 1:
        _print_one(found[0])
    else:
        _print_all(found)


def _of_vendor(vendor: str | None) -> list[Gpu]:
    gpus = all_gpus()
    vendors = sorted({gpu.vendor for gpu in gpus})
    if vendor is not None and vendor.lower() not in vendors:
        raise UnknownName("vendor", vendor, vendors, _("one of {names}").format(names=", ".join(vendors)))
    return [gpu for gpu in gpus if vendor is None or gpu.vendor == vendor.lower()]


def _search(name: str | None, among: list[Gpu]) -> list[Gpu]:
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


def _print_all(gpus: list[Gpu]) -> None:
    headers = ["id", _("name"), "GiB", "TB/s", "bf16", "fp8", _("node"), _("from USD/h"), _("provider")]
    print_table(headers, [_row(gpu) for gpu in gpus], left=(0, 1, 8), optional=(1, 8))
    legend = _("GiB: the driver's total. bf16, fp8: dense TFLOPS. ? not verified. `bide gpus ID`: sources and dates.")
    click.echo("\n" + legend)


def _row(gpu: Gpu) -> list[str]:
    price = gpu.cheapest
    return [
        gpu.id,
        gpu.name,
        format_gib(gpu.memory_bytes) + _mark(gpu, "memory"),
        f"{gpu.bandwidth_bytes_per_s / 1e12:.2f}" + _mark(gpu, "bandwidth"),
        _peak(gpu, "bf16"),
        _peak(gpu, "fp8"),
        str(gpu.node_gpus),
        f"{price.usd_per_hour:.2f}{'' if price.source.verified else '?'}" if price else "",
        price.provider if price else "",
    ]


def _peak(gpu: Gpu, kind: str) -> str:
    return f"{gpu.tflops[kind]:,.0f}{_mark(gpu, 'tflops')}" if kind in gpu.tflops else ""


def _mark(gpu: Gpu, figure: str) -> str:
    return "" if gpu.sources[figure].verified else "?"


def _print_one(gpu: Gpu) -> None:
    rows = [
        [name, _shown(figure), figure.source.kind, figure.source.checked, figure.source.text]
        for name, figure in gpu.figures().items()
    ]
    rows += [_price_row(number, gpu) for number in range(len(gpu.prices))]
    numbers = {text: number for number, text in enumerate(dict.fromkeys(row[-1] for row in rows), 1)}
    headers = [_("figure"), _("value"), _("kind"), _("date"), _("source")]
    cited = [[*row[:-1], f"[{numbers[row[-1]]}]"] for row in rows]
    print_table(headers, cited, title=f"{gpu.id}: {gpu.name}", left=(0, 2, 3, 4))
    for line in ("", *(f"[{number}] {text}" for text, number in numbers.items()), *_facts(gpu)):
        say(line, hang=4)


def _shown(figure: Sourced) -> str:
    mark = "" if figure.source.verified else " ?"
    if figure.unit == "bytes":
        return f"{figure.value / GIB:,.2f} GiB{mark}"
    if figure.unit == "bytes/s":
        return f"{figure.value / 1e9:,.0f} GB/s{mark}"
    return f"{figure.value:,g} {figure.unit}{mark}"


def _price_row(number: int, gpu: Gpu) -> list[str]:
    price = gpu.prices[number]
    high = f" - {price.usd_per_hour_high:.2f}" if price.usd_per_hour_high > price.usd_per_hour else ""
    value = f"{price.usd_per_hour:.2f}{high} USD/h{'' if price.source.verified else ' ?'}"
    source = price.source
    return [_("price"), value, source.kind, source.checked, f"{price.provider}: {source.text}"]


def _facts(gpu: Gpu) -> list[str]:
    """What is not one figure with one source."""
    ridges = ", ".join(f"{kind} {gpu.ridge_flop_per_byte(kind):,.0f}" for kind in gpu.tflops)
    node = _("Node: {count} GPUs over {kind}").format(count=gpu.node_gpus, kind=gpu.link_kind)
    lines = [
        _("Ridge point (FLOP per byte read; below it memory binds): {ridges}").format(ridges=ridges) if ridges else "",
        node,
        _("Also called: {names}").format(names=", ".join(gpu.aliases)) if gpu.aliases else "",
        _("Note: {note}").format(note=gpu.notes) if gpu.notes else "",
        _("? not verified: no source seen, or derived from a figure that was not"),
    ]
    return ["", *filter(None, lines)]
