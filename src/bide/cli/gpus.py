"""`bide gpus`: the accelerators bide knows, and where each figure comes from."""

from __future__ import annotations

import click

from bide.cli.options import json_option
from bide.cli.output import print_json, print_table, say
from bide.facts.gpus import Gpu
from bide.i18n import _, ngettext, numeral
from bide.report.gpus_dict import gpus_dict, gpus_found
from bide.sourced import Source, Sourced
from bide.units import GIB, format_gib


@click.command(help=_("The catalogue of accelerators. NAME: one, with every figure's source; or text to search for."))
@click.argument("name", required=False)
@click.option("--vendor", metavar="VENDOR", help=_("Only this vendor's (nvidia, amd, intel, google, aws, apple)."))
@json_option
def command(name: str | None, vendor: str | None, as_json: bool) -> None:
    """Print one GPU with its sources, or a table of those that fit."""
    found = gpus_found(name, vendor)
    if as_json:
        print_json("gpus", gpus_dict(found))
    elif name and len(found) == 1:
        _print_one(found[0])
    else:
        _print_all(found)


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
        numeral(gpu.bandwidth_bytes_per_s / 1e12, ".2f") + _mark(gpu, "bandwidth"),
        _peak(gpu, "bf16"),
        _peak(gpu, "fp8"),
        str(gpu.node_gpus),
        f"{numeral(price.usd_per_hour, '.2f')}{'' if price.source.verified else '?'}" if price else "",
        price.provider if price else "",
    ]


def _peak(gpu: Gpu, kind: str) -> str:
    return f"{numeral(gpu.tflops[kind], ',.0f')}{_mark(gpu, 'tflops')}" if kind in gpu.tflops else ""


def _mark(gpu: Gpu, figure: str) -> str:
    return "" if gpu.sources[figure].verified else "?"


def _print_one(gpu: Gpu) -> None:
    rows = [
        [name, _shown(figure), _kind(figure.source), figure.source.checked, figure.source.text]
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
        return f"{numeral(figure.value / GIB, ',.2f')} GiB{mark}"
    if figure.unit == "bytes/s":
        return f"{numeral(figure.value / 1e9, ',.0f')} GB/s{mark}"
    return f"{numeral(figure.value, ',g')} {figure.unit}{mark}"


def _kind(source: Source) -> str:
    """Where a figure comes from, in a word."""
    return {
        "datasheet": _("datasheet"),
        "config": _("config"),
        "driver": _("driver"),
        "measured": _("measured"),
        "derived": _("derived"),
        "assumed": _("assumed"),
        "given": _("given"),
        "price": _("price"),
    }[source.kind]


def _price_row(number: int, gpu: Gpu) -> list[str]:
    price = gpu.prices[number]
    high = f" - {numeral(price.usd_per_hour_high, '.2f')}" if price.usd_per_hour_high > price.usd_per_hour else ""
    asked = _("{usd} USD/h").format(usd=numeral(price.usd_per_hour, ".2f") + high)
    value = asked if price.source.verified else f"{asked} ?"
    source = price.source
    return [_("price"), value, _kind(source), source.checked, f"{price.provider}: {source.text}"]


def _facts(gpu: Gpu) -> list[str]:
    """What is not one figure with one source."""
    ridges = ", ".join(f"{kind} {numeral(gpu.ridge_flop_per_byte(kind), ',.0f')}" for kind in gpu.tflops)
    node = ngettext("Node: {count} GPU over {kind}", "Node: {count} GPUs over {kind}", gpu.node_gpus).format(
        count=gpu.node_gpus, kind=gpu.link_kind
    )
    lines = [
        _("Ridge point (FLOP per byte read; below it memory binds): {ridges}").format(ridges=ridges) if ridges else "",
        node,
        _("Also called: {names}").format(names=", ".join(gpu.aliases)) if gpu.aliases else "",
        _("Note: {note}").format(note=gpu.notes) if gpu.notes else "",
        _("? not verified: no source seen, or derived from a figure that was not"),
    ]
    return ["", *filter(None, lines)]
