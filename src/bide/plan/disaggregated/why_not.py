"""Why there is no disaggregated fleet: what cannot send its cache, what is too slow, what are too many."""

from __future__ import annotations

from bide.facts.gpus import Gpu
from bide.i18n import _
from bide.plan.asks import Ask, Asks
from bide.plan.candidate import Candidate
from bide.plan.disaggregated.capacity import PairCapacity
from bide.plan.disaggregated.pair import Pair
from bide.plan.question import Goodput
from bide.plan.rejection import Rejection
from bide.plan.serving.transfer import transfers
from bide.units import format_seconds

_ROOM = 1.01
"""On the nearest patience that is named."""


def name_of(what: str) -> str:
    """Of a candidate, or of a GPU with all that it was tried with."""
    return _("{replica}, prefill and decode apart").format(replica=what)


def unable(candidate: Candidate) -> Rejection | None:
    """None where the engine sends such a deployment's cache from replica to replica."""
    name, deployment = name_of(candidate.name), candidate.deployment
    if deployment.engine.name != "vllm":
        reason = _("fleets whose replicas do one of the two are planned for vLLM, not for {engine}.")
        nearest = _("`bide simulate --prefill-replicas --decode-replicas` runs one.")
        return Rejection(name, reason.format(engine=deployment.engine.name), None, None, "", nearest)
    if deployment.pp > 1:
        reason = _("vLLM's connector that sends the cache does not work with pipeline stages.")
        return Rejection(name, reason, None, None, "", _("More GPUs a stage (tp)."))
    if not transfers(deployment):
        reason = _("vLLM {version} documents no --kv-transfer-config of JSON.")
        text = reason.format(version=deployment.engine.version_text)
        return Rejection(name, text, None, None, "", _("A newer engine_version."))
    return None


def unlinked(gpu: Gpu) -> Rejection:
    """Where even two replicas cannot reach each other."""
    reason = _("the catalogue knows no link between replicas on this card.")
    return Rejection(name_of(gpu.id), reason, None, None, "", "")


def too_slow(trial: PairCapacity, asks: Asks) -> Rejection:
    """Even with nobody else there: by the costs of steps and of the link, or as simulated."""
    pair = Pair(1, 1)
    ask = max(asks, key=lambda one: trial.alone(pair, one) / one.most)
    least, name = trial.alone(pair, ask), name_of(trial.candidate.name)
    if least <= ask.most:
        ask, least = _simulated(trial, pair, asks)
    measure = ask.probe.measure
    if isinstance(measure, Goodput):
        reason = _("{share:.1%} of the requests cannot keep every limit, even with nobody else there")
        nearest = _("They can with {factor:.3g} times the patience.").format(factor=least * _ROOM)
        return Rejection(name, reason.format(share=measure.share) + ".", least, 1.0, "", nearest)
    reason = _(
        "{limit} is at least {least} with nobody else there, {moved} of it for the cache to move; the limit is {most}"
    )
    text = reason.format(
        limit=measure.name,
        least=format_seconds(least),
        moved=format_seconds(_moved_s(trial, pair, ask)),
        most=format_seconds(ask.most),
    )
    nearest = _("The least patience that it can keep is {least}.").format(least=format_seconds(least * _ROOM))
    return Rejection(name, text + ".", least, ask.most, "s", nearest)


def _simulated(trial: PairCapacity, pair: Pair, asks: Asks) -> tuple[Ask, float]:
    """What comes furthest above its limit in a fleet that is next to idle."""
    idle = [(ask, trial.value(trial.idle_rps(pair), pair, ask.probe)) for ask in asks]
    return max(idle, key=lambda one: one[1] / one[0].most)


def _moved_s(trial: PairCapacity, pair: Pair, ask: Ask) -> float:
    """Of the mean prompt's cache; nothing for times between tokens."""
    measure = ask.probe.measure
    timed = not isinstance(measure, Goodput) and measure.latency in ("ttft", "e2e")
    return trial.moved_s(pair) if timed else 0.0


def too_many(trial: PairCapacity, needed: Pair | None, gpus: int, max_gpus: int) -> Rejection:
    """It takes `gpus`: for a pair that would do, or (None) at least."""
    text = (
        _("needs {gpus:,} GPUs ({fleet}); at most {most} are allowed")
        if needed
        else _("needs {gpus:,} GPUs at least; at most {most} are allowed")
    )
    fleet = trial.candidate.pooled_name(needed) if needed else ""
    reason = text.format(gpus=gpus, fleet=fleet, most=max_gpus)
    nearest = _(
        "Allow {gpus:,} (hardware.max_gpus), a longer patience, or replicas that do both (disaggregated: false)."
    )
    name = name_of(trial.candidate.name)
    return Rejection(name, reason + ".", gpus, max_gpus, "GPUs", nearest.format(gpus=gpus))
