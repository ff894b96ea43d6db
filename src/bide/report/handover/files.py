"""The files of a plan, as text: for each fleet its command, its manifests, its chart values, or why there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bide.facts.engine_options import command_line
from bide.i18n import _
from bide.plan.answer import Plan
from bide.plan.thresholds import Thresholds
from bide.report.handover import comments
from bide.report.handover.autoscaling import adapter_rules, autoscaler, scaled_object, scaling
from bide.report.handover.kubernetes import objects
from bide.report.handover.llm_d import CHART as LLM_D_CHART
from bide.report.handover.llm_d import llm_d_values
from bide.report.handover.production_stack import CHART as STACK_CHART
from bide.report.handover.production_stack import production_stack_values
from bide.report.handover.script import script
from bide.report.handover.unit import Unit
from bide.report.handover.units import units

SERVE, KUBERNETES = "serve.sh", "kubernetes.yaml"
KEDA, HPA = "autoscale-keda.yaml", "autoscale-hpa.yaml"
STACK, LLM_D = "production-stack-values.yaml", "llm-d-values.yaml"


@dataclass(frozen=True, slots=True)
class Handover:
    """The files of one fleet by name, and those that were left out with the reason."""

    name: str
    """Of the folder: a Kubernetes name."""
    service: str
    files: dict[str, str]
    left_out: dict[str, str]


def handover(plan: Plan) -> list[Handover]:
    """What `write_handover` writes, a fleet each; services that cannot be met have none."""
    router = plan.question.fleet.router
    return [handed(unit, router) for unit in units(plan)]


def handed(unit: Unit, router: str = "round-robin") -> Handover:
    """The files of one fleet."""
    made: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for name, reason, make in _all(unit, router):
        if reason:
            left_out[name] = reason
        else:
            made[name] = make()
    return Handover(unit.name, unit.service, made, left_out)


def _all(unit: Unit, router: str) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Each file with why it cannot be made (empty: it can), and its maker."""
    placed, thresholds = _not_placed(unit), scaling(unit)
    charted = placed or _not_charted(unit)
    yield SERVE, "", lambda: script(unit)
    yield KUBERNETES, placed, lambda: _kubernetes(unit, router)
    if thresholds:
        yield KEDA, placed, lambda: _keda(unit, thresholds)
        yield HPA, placed, lambda: _hpa(unit, thresholds)
    else:
        yield KEDA, placed or _not_scaled(unit), str
        yield HPA, placed or _not_scaled(unit), str
    yield STACK, charted or _not_stacked(unit), lambda: _stack(unit, router)
    yield LLM_D, charted or _not_paired(unit), lambda: _llm_d(unit)


def _not_placed(unit: Unit) -> str:
    if unit.nodes > 1:
        text = _("a replica takes {gpus} GPUs on {nodes} nodes; these manifests start replicas within a node only")
        return text.format(gpus=unit.gpus, nodes=unit.nodes)
    if unit.accelerator is None:
        return _("no Kubernetes device plugin is known for {gpu}").format(gpu=unit.gpu.name)
    if unit.image is None:
        engine = unit.deployment.engine.name
        return _("no image of {engine} is known for {gpu}").format(engine=engine, gpu=unit.gpu.name)
    return ""


def _not_scaled(unit: Unit) -> str:
    if unit.thresholds is None:
        return _("the plan has no thresholds: it is a fixed fleet")
    return _("the fewest replicas are as many as the most, or the engine's metrics are not known")


def _not_charted(unit: Unit) -> str:
    engine = unit.deployment.engine.name
    return "" if engine == "vllm" else _("the chart starts vLLM, not {engine}").format(engine=engine)


def _not_paired(unit: Unit) -> str:
    """The chart's values are for both kinds of replica, beside those that answer."""
    return _("written once for both kinds of replica, beside those that answer") if unit.role == "prefill" else ""


def _not_stacked(unit: Unit) -> str:
    """Replicas that do one stage need another router than the chart's. And the chart writes
    --no-enable-prefix-caching wherever prefixes are not cached, which 0.6.0 does not have."""
    if unit.role is not None:
        return _("not written for replicas that do one of the two stages: llm-d's chart is")
    given, engine = "--no-enable-prefix-caching", unit.deployment.engine
    if unit.deployment.enable_prefix_caching or command_line(engine.name, engine.version_text).has(given):
        return ""
    return _("the chart gives {option}, which this release does not have").format(option=given)


def _kubernetes(unit: Unit, router: str) -> str:
    said = [
        *comments.planned(unit),
        *comments.assumed(unit),
        comments.updates(unit),
        comments.in_front(unit) or comments.balanced(router),
        comments.secret(needed=False),
    ]
    return comments.commented(said) + _dumped(*objects(unit))


def _keda(unit: Unit, found: Thresholds) -> str:
    said = [
        *comments.planned(unit),
        *comments.thresholds(unit),
        _("Needs KEDA and a Prometheus at the serverAddress that labels metrics with `pod`. Not beside an HPA."),
    ]
    return comments.commented(said) + _dumped(scaled_object(unit, found))


def _hpa(unit: Unit, found: Thresholds) -> str:
    rules = _dumped({"rules": {"custom": adapter_rules(unit, found)}}).rstrip()
    said = [
        *comments.planned(unit),
        *comments.thresholds(unit),
        _("Needs prometheus-adapter with these values. Not beside KEDA's ScaledObject."),
        rules,
    ]
    return comments.commented(said) + _dumped(autoscaler(unit, found))


def _stack(unit: Unit, router: str) -> str:
    said = [
        *comments.planned(unit),
        *comments.assumed(unit),
        *comments.routed(router),
        *comments.thresholds(unit),
        comments.secret(needed=True),
        _("Values for the chart {chart}.").format(chart=STACK_CHART),
    ]
    return comments.commented(said) + _dumped(production_stack_values(unit, router))


def _llm_d(unit: Unit) -> str:
    said = [
        *(comments.planned(unit.partner) if unit.partner else []),
        *comments.planned(unit),
        *comments.assumed(unit),
        *(comments.thresholds(unit.partner) if unit.partner else []),
        *comments.thresholds(unit),
        comments.secret(needed=True),
        *([comments.scheduled()] if unit.role else []),
        _("Values for the chart {chart}.").format(chart=LLM_D_CHART),
    ]
    return comments.commented(said) + _dumped(llm_d_values(unit))


def _dumped(*found: dict[str, Any]) -> str:
    """YAML documents, keys in our order."""
    import yaml

    class Plain(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    texts = [yaml.dump(each, Dumper=Plain, sort_keys=False, width=1000, allow_unicode=True) for each in found]
    return "---\n".join(texts)
