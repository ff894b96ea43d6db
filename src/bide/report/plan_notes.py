"""What stands under every plan: what was assumed, what is not counted, where the facts are from."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _
from bide.plan.answer import Plan
from bide.report.words import assumption_text, listed
from bide.sourced import Assumption, Source
from bide.workload.arrivals import SEED


def assumption_lines(plan: Plan) -> Iterable[str]:
    """Every assumption once, those for one reason together, with the services in brackets where not all have it."""
    owners: dict[tuple[str, str], list[str]] = {}
    for name, assumption in _assumptions(plan):
        owners.setdefault((assumption_text(assumption), assumption.why), []).append(name)
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (value, why), names in owners.items():
        groups.setdefault((why, tuple(names)), []).append(value)
    for (why, owning), values in groups.items():
        text = f"{', '.join(values)} ({why})"
        partly = owning != ("",) and len(set(owning)) < len(plan.services)
        yield f"{text} [{listed(owning)}]" if partly else text


def _assumptions(plan: Plan) -> Iterable[tuple[str, Assumption]]:
    """Each with the service that made it; those of the file itself with none."""
    yield from (("", assumption) for assumption in plan.question.assumptions)
    for service in plan.services:
        name = service.service.name
        yield from ((name, assumption) for assumption in service.service.workload.assumptions)
        if service.chosen:
            yield from ((name, assumption) for assumption in service.chosen.candidate.assumptions)


def limit_lines() -> Iterable[str]:
    """What the numbers leave out."""
    yield _(
        "Replicas are sized as if requests were dealt to them in turn, or drawn where the router draws. A router that "
        "looks at queues or caches does better, prefix-cache hits among it; the run of the whole fleet counts that."
    )
    yield _("Failures and cold starts are not simulated: spare replicas are bought for them (fleet: spare_replicas).")
    yield _("Time on the network between users and the fleet, and what stands in front of the engines, comes on top.")


def source_lines(plan: Plan) -> Iterable[str]:
    """Where the workloads, models and cards come from, each once."""
    lines: dict[str, None] = {}
    for service in plan.services:
        lines[_line(_("workload of {name}").format(name=service.service.name), service.service.workload.source)] = None
        for note in service.service.workload.notes:
            lines[f"{service.service.name}: {note}"] = None
        lines[_line(service.service.model.name, service.service.model.source)] = None
        if service.chosen:
            gpu = service.chosen.candidate.gpu
            for figure, name in (
                ("usable", _("memory")),
                ("bandwidth", _("bandwidth")),
                ("tflops", _("compute peaks")),
            ):
                lines[_line(f"{gpu.id}, {name}", gpu.sources[figure])] = None
            if service.chosen.price:
                lines[_line(f"{gpu.id}, {_('price')}", service.chosen.price.source)] = None
    return lines


def reproduce_command(plan: Plan) -> str:
    """`bide plan chat.yaml --peak-rps 20 --profile mine.json`; empty for a question that is from no file."""
    import shlex

    if not plan.question.file:
        return ""
    profile = [f"--profile {shlex.quote(plan.profile_file)}"] if plan.profile_file else []
    return " ".join(["bide plan", shlex.quote(plan.question.file), *plan.question.flags, *profile])


def reproduce_lines(plan: Plan) -> Iterable[str]:
    """Everything beside the file that the answer rests on."""
    from bide import __version__

    yield _("bide {version}, profile {name} of {date}.").format(
        version=__version__, name=plan.profile.name, date=plan.profile.date
    )
    text = _("Drawn lengths and arrivals come from the seed {seed}: the same file gives the same answer.")
    yield text.format(seed=SEED)


def file_text(plan: Plan) -> str:
    """The service file's content, without its comments."""
    if not plan.question.given:
        return ""
    import yaml

    text: str = yaml.safe_dump(plan.question.given, sort_keys=False, allow_unicode=True, width=100)
    return text


def _line(what: str, source: Source) -> str:
    return f"{what}: {source}"
