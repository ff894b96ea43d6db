"""Our own results: the JSON of `bide bench --json`, and its journal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.bench.formats.assembling import run_of_table
from bide.bench.formats.faults import client_behind, warnings_of_counts
from bide.bench.formats.numbers import count, items, mapping, number, positive, words
from bide.bench.formats.values import Asked, Fault, Figures, Metric, Run
from bide.i18n import _, ngettext

if TYPE_CHECKING:
    from bide.bench.result import Cell

TOOL = "bide bench"
_JOURNAL = "bide.bench.journal/"
_LONGEST_HEAD = 1 << 20
_METRICS: tuple[Metric, ...] = ("ttft", "tpot", "itl", "e2e")
_TAIL_PERCENT = 90.0
"""A client says its lag at p50 and p99: what lies between may be of either."""


def is_bench(found: Mapping[str, Any]) -> bool:
    return found.get("schema") == "bide.bench/1"


def begins_journal(path: Path) -> bool:
    """Whether the first line is that of a journal; nothing else is read, for journals are long."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            head = json.loads(file.readline(_LONGEST_HEAD))
    except (OSError, ValueError, RecursionError):
        return False
    return str(mapping(head).get("schema", "")).startswith(_JOURNAL)


def bench_runs(found: Mapping[str, Any], source: str) -> list[Run]:
    """A run for each cell."""
    settings, cells = mapping(found.get("settings")), items(found.get("cells"))
    several = len(cells) > 1
    return [
        _cell(mapping(cell), settings, f"{source}#{place}" if several else source) for place, cell in enumerate(cells)
    ]


def _cell(cell: Mapping[str, Any], settings: Mapping[str, Any], source: str) -> Run:
    load = asked_of(mapping(cell.get("load")))
    status, rates = mapping(cell.get("status")), mapping(cell.get("rates"))
    completed = count(status.get("ok")) or 0
    failed = sum(count(n) or 0 for name, n in status.items() if name not in ("ok", "cancelled"))
    shares = [number(cell.get("cached_share")), number(mapping(cell.get("server")).get("hit_share"))]
    cached = max((share for share in shares if share is not None), default=None)
    client = mapping(cell.get("client"))
    kept_up = client.get("kept_up")
    per_s, prompts = positive(rates.get("completed_per_s")), positive(rates.get("prompt_tokens_per_s"))
    outputs, tokens = positive(rates.get("output_tokens_per_s")), mapping(cell.get("tokens"))
    server = words(mapping(cell.get("server")).get("engine"))
    flight = positive(mapping(cell.get("in_flight")).get("mean"))
    latency = {metric: made for metric in _METRICS if (made := _figures(mapping(cell.get("latency")).get(metric)))}
    return Run(
        source,
        TOOL,
        load,
        completed=completed,
        failed=failed,
        duration_s=_seconds(mapping(cell.get("window"))),
        prompt_tokens=positive(tokens.get("mean_prompt")) or (prompts / per_s if prompts and per_s else None),
        output_tokens=positive(tokens.get("mean_output")) or (outputs / per_s if outputs and per_s else None),
        requests_per_s=per_s,
        output_tokens_per_s=outputs,
        concurrency=flight,
        latency=latency,
        cached_share=cached,
        deployment=stated_of(settings, server),
        date=words(settings.get("date")) or "",
        client_kept_up=kept_up if isinstance(kept_up, bool) else None,
        faults=(
            *client_behind(load, flight),
            *client_faults(kept_up, client.get("tail_kept_up")),
            *cut_short(cell.get("interrupted") is True, count(cell.get("missing")) or 0),
            *drafted(settings),
            *warnings_of_counts(completed, failed, cached, load),
        ),
    )


def client_faults(kept_up: object, tail_kept_up: object) -> Iterator[Fault]:
    """What the client confessed; `kept_up` None: a run that was killed before it could."""
    if kept_up is False:
        text = _("the client did not keep up: these figures are of the client as much as of the server")
        yield Fault("client_saturated", text, "unusable")
    elif tail_kept_up is False:
        text = _("the client lagged now and then: the tail of ITL is of the client as much as of the server")
        yield Fault("client_tail", text, "distrust", ("itl",), _TAIL_PERCENT)
    if kept_up is None:
        yield Fault("client_unknown", _("the run was cut off before it could say whether its client kept up"))


def cut_short(interrupted: bool, missing: int) -> Iterator[Fault]:
    """A run that did not come to its end."""
    if missing:
        text = ngettext(
            "the run was cut short: {n:,} request is missing",
            "the run was cut short: {n:,} requests are missing",
            missing,
        )
        yield Fault("cut_short", text.format(n=missing))
    elif interrupted:
        yield Fault("cut_short", _("the run was cut short"))


def drafted(settings: Mapping[str, Any]) -> Iterator[Fault]:
    """Speculative decoding, where the server says that it is on."""
    how = words(mapping(settings.get("server")).get("speculative_algorithm"))
    if how and how.lower() != "none":
        text = _("the server drafts ({how}): say --speculative-tokens")
        yield Fault("speculative", text.format(how=how))


def _seconds(window: Mapping[str, Any]) -> float | None:
    first, last = number(window.get("start_s")), number(window.get("end_s"))
    return last - first if first is not None and last is not None and last > first else None


def _figures(said: object) -> Figures | None:
    found = mapping(said)
    points, sure = {}, {}
    for name, raw in found.items():
        each = mapping(raw)
        value, low, high = (number(each.get(key)) for key in ("value", "low", "high"))
        if value is None:
            continue
        percent = float(name.removeprefix("p").removesuffix("_s"))
        points[percent] = value
        if low is not None and high is not None:
            sure[percent] = (low, high)
    mean, *ends = (number(found.get(key)) for key in ("mean_s", "mean_low_s", "mean_high_s"))
    if mean is None and not points:
        return None
    low, high = ends
    about = None if low is None or high is None else (low, high)
    return Figures(mean, points, count(found.get("count")), None, sure, about)


def asked_of(load: Mapping[str, Any]) -> Asked:
    """The load of a cell."""
    if load.get("ramp_from") is not None:
        return Asked("unknown")
    if load.get("kind") == "closed" and not load.get("think_s"):
        clients = positive(load.get("concurrency"))
        return Asked("concurrency", clients) if clients else Asked("unknown")
    rate = positive(load.get("rate"))
    if load.get("kind") == "open" and rate:
        return Asked("requests_per_s", rate, number(load.get("burstiness")) or float("inf"))
    return Asked("unknown")


def stated_of(settings: Mapping[str, Any], engine: str | None) -> dict[str, Any]:
    """What the settings and the server's own facts say; `engine`: whose metrics it has."""
    server = mapping(settings.get("server"))
    stated = {
        "model": words(settings.get("model")),
        "engine": engine if engine in ("vllm", "sglang") else None,
        "engine_version": words(server.get("version")),
        **{key: count(server.get(f"{key}_size")) for key in ("tp", "pp", "dp")},
    }
    return {key: value for key, value in stated.items() if value is not None}


def journal_runs(path: Path, field: str) -> list[Run]:
    """A run with its table for each cell of a journal."""
    from bide.bench.kept import load_result

    made = load_result(path, field)
    lost = [Fault("broken_lines", note) for note in made.notes]
    several = len(made.cells) > 1
    return [
        _kept_run(cell, made.settings, f"{path}#{cell.number}" if several else str(path), lost) for cell in made.cells
    ]


def _kept_run(cell: Cell, settings: Mapping[str, Any], source: str, lost: list[Fault]) -> Run:
    load, share = asked_of(cell.load.to_dict()), cell.server.hit_share
    kept_up = cell.client_kept_up if cell.health.known else None
    return run_of_table(
        cell.table,
        source,
        TOOL,
        load,
        [
            *client_faults(kept_up, not cell.tail_is_the_clients),
            *cut_short(cell.interrupted, cell.missing),
            *drafted(settings),
            *lost,
        ],
        cell.warm_up_s,
        deployment=stated_of(settings, cell.server.engine),
        date=str(settings.get("date", "")),
        client_kept_up=kept_up,
        concurrency=cell.summary.flight.mean,
        cached_share=share if share > cell.summary.cached_share else None,
    )
