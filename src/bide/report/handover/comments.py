"""The comments at the top of each file: what was planned, what is assumed, what to do first."""

from __future__ import annotations

from bide.i18n import _
from bide.report.handover.autoscaling import scaling, targets
from bide.report.handover.production_stack import has_router, routing
from bide.report.handover.unit import ENGINE_START_S, LOAD_BYTES_PER_S, TOKEN_KEY, TOKEN_SECRET, Unit

MARK = "# Written by bide"
"""The first line of every file (the second of a script): what may be written over."""


def commented(sentences: list[str]) -> str:
    """Each sentence as a comment, after the mark."""
    lines = [line for sentence in sentences for line in sentence.splitlines()]
    return "\n".join([MARK, *(f"# {line}".rstrip() for line in lines)]) + "\n"


def planned(unit: Unit) -> list[str]:
    """What the plan said of this fleet, and what its command cannot say."""
    replicas = _("{replicas} replicas of {gpus} x {gpu}: {needed} for the load, {spare} spare, {rolling} for updates.")
    counted = replicas.format(
        replicas=unit.replicas,
        gpus=unit.gpus,
        gpu=unit.gpu.name,
        needed=unit.needed,
        spare=unit.spare,
        rolling=unit.rolling,
    )
    engine = unit.deployment.engine
    what = _("{service}: {model} on {engine} {version}.").format(
        service=unit.service, model=unit.deployment.model.name, engine=engine.name, version=engine.version_text
    )
    return [what, counted, *unit.promises, *unit.command.remarks]


def assumed(unit: Unit) -> list[str]:
    """What the manifests take for granted."""
    start = _(
        "A start may take {limit:.0f} s: twice the longer of the plan's {given:.0f} s and {gb:.0f} GB of weights at "
        "{rate:g} GB/s + {engine:.0f} s (assumed)."
    ).format(
        limit=unit.start_limit_s,
        given=unit.scale_up_s,
        gb=unit.weights_bytes / 1e9,
        rate=LOAD_BYTES_PER_S / 1e9,
        engine=ENGINE_START_S,
    )
    sizes = _("CPU, memory and /dev/shm are assumed. Weights are downloaded at every start: a volume saves that.")
    return [start, sizes, *_placed(unit), *_not_verified(unit)]


def _not_verified(unit: Unit) -> list[str]:
    if unit.gpu.vendor == "nvidia":
        return []
    return [_("The image's name for {gpu} was not verified.").format(gpu=unit.gpu.name)]


def secret(*, needed: bool) -> str:
    """How to make the Secret with Hugging Face's token; `needed`: replicas do not start without it."""
    text = _("Hugging Face token{why}: kubectl create secret generic {name} --from-literal={key}=...")
    why = _(" (the chart needs it for open models too)") if needed else _(" (for gated models)")
    return text.format(why=why, name=TOKEN_SECRET, key=TOKEN_KEY)


def _placed(unit: Unit) -> list[str]:
    found = unit.accelerator
    if found and found.products:
        text = _("Nodes are chosen by the label {label}: see `kubectl get nodes -L {label}`.")
        return [text.format(label=found.label)]
    return [_("No node label for {gpu} is known: choose nodes yourself.").format(gpu=unit.gpu.name)]


def updates(unit: Unit) -> str:
    """What an update takes."""
    if unit.rolling:
        return _("Replicas that an update takes out at once: {n}. There is headroom for it.").format(n=unit.rolling)
    return _("An update starts one replica more before it ends one: {gpus} free GPUs are needed meanwhile.").format(
        gpus=unit.gpus
    )


def balanced(router: str) -> str:
    """What the Service does in place of a router."""
    return _("Kubernetes' Service spreads connections at random; the plan counted on {router}.").format(router=router)


def in_front(unit: Unit) -> str:
    """What must send requests to replicas that do one of the two stages; empty for those that do both."""
    if unit.role is None:
        return ""
    return _(
        "Not for clients: a router must send each request to a replica for prompts (max_tokens 1) "
        "and then, with the kv_transfer_params of its answer, to one that answers. llm-d-values.yaml, beside those "
        "that answer, sets up such a sidecar; vLLM's repository has a proxy for trials "
        "(tests/v1/kv_connector/nixl_integration/toy_proxy_server.py). None is started by this file."
    )


def scheduled() -> str:
    """What llm-d needs beside its model service for two kinds of replica."""
    return _(
        "Each replica that answers has llm-d's routing sidecar, which gets the prompt computed where the header "
        "x-prefiller-host-port says. llm-d's inference scheduler (the endpoint picker of an InferencePool, a chart of "
        "its own) sets that header: without it replicas that answer also compute the prompts. Pin the sidecar's image: "
        "the chart's default is `latest`."
    )


def routed(router: str) -> list[str]:
    """Empty where the chart has the plan's router."""
    if has_router(router):
        return []
    text = _("The plan's router, {router}, is not one of the chart's: {used} is set instead.")
    return [text.format(router=router, used=routing(router))]


def thresholds(unit: Unit) -> list[str]:
    """The arithmetic of each threshold, where something scales by them."""
    found = scaling(unit)
    if found is None:
        return []
    unused = () if "kv_usage" in targets(found) else ("kv_usage",)
    return [why for name, why in found.why.items() if name not in unused]
