"""`measured`: the benchmark of one replica, in place of simulating it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bide.facts.deployment import Deployment
from bide.facts.gpus import Gpu, find_gpu
from bide.i18n import _
from bide.located import Located
from bide.plan.asked.deployment import read_deployment
from bide.plan.asks import asks_of
from bide.plan.measured.levels import levels_of, why_not_borne, why_unusable
from bide.plan.question import Hardware, MeasuredReplica, Service
from bide.plan.space import raw_of
from bide.sourced import Assumption

if TYPE_CHECKING:
    from bide.bench.formats.values import Run

_KEYS = ("results", "gpu", "deployment")
_ENOUGH = 100
"""Requests, as many as a trace must have."""
_NEAR, _FAR = 0.05, 0.25
"""The mean lengths of the benchmark may be off by the first unsaid, and by the second at all."""


def read_measured(
    entry: Located, folder: Path, service: Service, hardware: Hardware
) -> tuple[MeasuredReplica, tuple[Assumption, ...]]:
    """A file, a list of files, or a mapping with `results` and what was measured. Paths are relative to `folder`."""
    keys = entry.mapping(_KEYS, ("results",)) if isinstance(entry.value, dict) else {"results": entry}
    results = keys["results"]
    files = list(results.items()) if isinstance(results.value, list) else [results]
    if not files or not all(isinstance(item.value, str) for item in files):
        raise results.bad(_("the file of a benchmark, or a list of files"))
    if len({item.value for item in files}) < len(files):
        raise results.bad(_("each file once"))
    found = [run for item in files for run in _runs(item, folder)]
    gpu = _gpu(keys.get("gpu"), entry, hardware)
    setting, choices = read_deployment(keys.get("deployment"), service.model)
    if choices:
        raise keys["deployment"].bad(_("one value for each key: what was measured"))
    names = tuple(dict.fromkeys(Path(run.source).name for run in found))
    usable = [run for run in found if not list(why_unusable(run))]
    measured = MeasuredReplica(gpu, setting, tuple(usable), names)
    _check_replica(entry, results, measured, service, hardware)
    _check_levels(results, found, usable)
    _check_asked(results, measured, service)
    return measured, (*_left_out(found, usable, service), *_few(measured, service), *_lengths(results, usable, service))


def _runs(item: Located, folder: Path) -> list[Run]:
    from bide.bench.formats.reading import read_runs

    name = item.text()
    return item.at(lambda: read_runs(folder / name, item.path))


def _gpu(item: Located | None, entry: Located, hardware: Hardware) -> Gpu:
    """As told, or the only one that there is."""
    known = {gpu.id: gpu for gpu in hardware.gpus}
    if item is None:
        if len(known) > 1:
            raise entry.bad(_("results, and the gpu that they were measured on: {gpus}").format(gpus=", ".join(known)))
        return hardware.gpus[0]
    name = item.text()
    gpu = item.at(lambda: find_gpu(name))
    if gpu.id not in known:
        raise item.bad(_("one of hardware.gpus: {gpus}").format(gpus=", ".join(known)))
    return known[gpu.id]


def _check_replica(
    entry: Located, results: Located, measured: MeasuredReplica, service: Service, hardware: Hardware
) -> None:
    """Refuse what cannot be run, takes more GPUs than there are, or is not what the results say was measured."""
    from bide.calibrate.runs import other_deployment

    raw = raw_of(service, measured.gpu, measured.setting)
    deployment = entry.at(lambda: Deployment.resolve(raw))
    if deployment.replica_gpus > hardware.max_gpus:
        text = _("a replica of at most hardware.max_gpus, {most}").format(most=hardware.max_gpus)
        raise entry.bad(text, _("it takes {n}").format(n=deployment.replica_gpus))
    for other in (why for run in measured.runs for why in other_deployment(run, deployment)):
        raise results.bad(_("results with a rate and latencies that can be believed"), other)


def _check_levels(item: Located, found: Sequence[Run], usable: Sequence[Run]) -> None:
    if not usable:
        why = "; ".join(dict.fromkeys(reason for run in found for reason in why_unusable(run)))
        raise item.bad(_("results with a rate and latencies that can be believed"), why)
    if not levels_of(usable):
        why = "; ".join(dict.fromkeys(f"{run.name}: {why_not_borne(run)}" for run in usable))
        raise item.bad(_("at least one load that the replica bore"), why)


def _check_asked(item: Located, measured: MeasuredReplica, service: Service) -> None:
    """Every level must say everything that is asked."""
    for level in levels_of(measured.runs):
        for ask in asks_of(service):
            if level.taken(ask.probe) is None:
                name = getattr(ask.probe.measure, "name", "goodput")
                hint = _("{load} has none; a result with its requests has them all (bide bench -o FILE.jsonl)")
                raise item.bad(
                    _("results that say {name}, which the patience asks").format(name=name),
                    level.spoilt_by(ask.probe) or hint.format(load=level.run.name),
                )


def _left_out(found: Sequence[Run], usable: Sequence[Run], service: Service) -> list[Assumption]:
    """What was not used of the results, and why."""
    kept = {id(level.run) for level in levels_of(usable)}
    above = _("above a load that was not borne")
    reasons = [
        (run, "; ".join(why_unusable(run)) or why_not_borne(run) or above) for run in found if id(run) not in kept
    ]
    name = _("measured loads of {name}").format(name=service.name)
    return [Assumption(name, _("without {load}").format(load=run.name), why) for run, why in reasons]


def _few(measured: MeasuredReplica, service: Service) -> list[Assumption]:
    """Loads of which too few requests were measured for a percentile."""
    few = [level.run for level in levels_of(measured.runs) if (level.run.completed or _ENOUGH) < _ENOUGH]
    name, why = _("measured loads of {name}").format(name=service.name), _("few: a p95 wants {n} requests or more")
    text = _("{n} requests at {load}")
    return [Assumption(name, text.format(n=run.completed, load=run.name), why.format(n=_ENOUGH)) for run in few]


def _lengths(item: Located, usable: Sequence[Run], service: Service) -> list[Assumption]:
    """Refuse a load of other requests; say it of one that is near."""
    work, notes = service.workload, []
    for what, key in ((_("prompt"), "prompt_tokens"), (_("output"), "output_tokens")):
        planned = float(getattr(work, key).mean())
        for run in usable:
            mean = float(getattr(run, key) or planned)
            off = abs(mean / planned - 1)
            text = _("{mean:,.0f} {what} tokens on average, the workload has {planned:,.0f}")
            said = f"{run.name}: {text.format(mean=mean, what=what, planned=planned)}"
            if off > _FAR:
                hint = _("bide bench --workload FILE plays the workload's own requests")
                raise item.bad(
                    _("results with the workload's lengths, within {far:.0%}").format(far=_FAR), f"{said}; {hint}"
                )
            if off > _NEAR:
                name = _("measured requests of {name}").format(name=service.name)
                notes.append(Assumption(name, said, _("as measured")))
    return notes
