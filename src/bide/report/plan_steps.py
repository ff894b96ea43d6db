"""The five steps from traffic to cost, in sentences, each with what a newcomer learns from it."""

from __future__ import annotations

from dataclasses import dataclass

from bide.i18n import _
from bide.plan.answer import Option, Reading, ServicePlan
from bide.plan.cost import HOURS_PER_MONTH
from bide.plan.reading import shown_measures
from bide.report.curve_sentences import waits_for
from bide.report.words import count, latency_name, rate, seconds, short_name, span, usd
from bide.units import format_bytes, format_gib
from bide.workload.requests import summarise


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the reasoning. `lesson` is what a newcomer learns from it."""

    title: str
    text: str
    lesson: str


def chosen_steps(plan: ServicePlan) -> tuple[Step, ...]:
    """Traffic, memory, speed, patience, cost; only the traffic where nothing can be run."""
    chosen = plan.chosen
    if chosen is None:
        return (_traffic(plan),)
    return _traffic(plan), _memory(chosen), _speed(chosen), _patience(plan, chosen.reading), _cost(chosen)


def _traffic(plan: ServicePlan) -> Step:
    service, work = plan.service, plan.service.workload
    prompt, output = summarise(work.prompt_tokens), summarise(work.output_tokens)
    text = _(
        "{peak} requests/s at the peak x margin {margin:g} = {planned} requests/s. "
        "A request has {prompt} prompt and {output} output tokens on average "
        "(95% of them at most {prompt95} and {output95}), {total} together."
    ).format(
        peak=rate(service.traffic.peak_rps),
        margin=service.traffic.margin,
        planned=rate(service.traffic.planned_rps),
        prompt=count(prompt.mean),
        output=count(output.mean),
        prompt95=count(prompt.p95),
        output95=count(output.p95),
        total=count(prompt.mean + output.mean),
    )
    lesson = _("Averages mislead: the long requests fill the memory, and the bursts make the queue.")
    return Step(_("Traffic"), text, lesson)


def _memory(option: Option) -> Step:
    candidate = option.candidate
    memory, replica = candidate.memory, candidate.likely
    text = _(
        "A token keeps {token} of cache on each GPU, a running request {request} on average. "
        "Of the card's {card} GiB the weights take {weights} and the cache pool gets {pool} ({low} to {high}): "
        "room for {slots} such requests at once on a replica."
    ).format(
        token=format_bytes(memory.kv.per_gpu.growing_bytes_per_token),
        request=format_bytes(candidate.held_bytes),
        card=format_gib(memory.ledger.total_bytes),
        weights=format_gib(memory.ledger.weights_bytes),
        pool=format_gib(memory.pool_bytes.mid),
        low=format_gib(memory.pool_bytes.low),
        high=format_gib(memory.pool_bytes.high),
        slots=count(replica.slots),
    )
    lesson = _(
        "Every token of every running request stays in GPU memory; what is left beside the weights sets the batch."
    )
    return Step(_("Memory"), text, lesson)


def _speed(option: Option) -> Step:
    reading, candidate = option.reading, option.candidate
    steady = candidate.likely.at(reading.requests_per_s)
    stable = candidate.highest_stable_rps
    text = _(
        "At {rate} requests/s a replica runs {running} requests at once on average. A step that gives each of them a "
        "token takes {step}; prompts take {share:.0%} of the time. {bound} "
        "A replica keeps up with {stable} requests/s at most ({low} to {high})."
    ).format(
        rate=rate(reading.requests_per_s),
        running=rate(reading.running_requests or 0.0),
        step=seconds(steady.decode_step_s if steady else 0.0),
        share=reading.prefill_share or 0.0,
        bound=waits_for(reading.bound),
        stable=rate(stable.mid),
        low=rate(stable.low),
        high=rate(stable.high),
    )
    lesson = _(
        "Each step reads all the weights once, for however many requests: a bigger batch is cheaper, and slower."
    )
    return Step(_("Speed"), text, lesson)


def _patience(plan: ServicePlan, reading: Reading) -> Step:
    limits = {limit.measure: limit.seconds for limit in plan.service.patience}
    parts = []
    for measure in shown_measures(plan.service.patience):
        text = f"{short_name(measure)} {span(reading.seconds[measure])}"
        if measure in limits:
            text += _(", limit {limit}").format(limit=seconds(limits[measure]))
        parts.append(text)
    names = _("TTFT: {ttft}; TPOT: {tpot}; E2E: {e2e}.").format(
        ttft=latency_name("ttft"), tpot=latency_name("tpot"), e2e=latency_name("e2e")
    )
    return Step(_("Patience"), "; ".join(parts) + ".", names)


def _cost(option: Option) -> Step:
    lesson = _("An idle GPU costs the same: the price of a token is the bill divided by what is really served.")
    if option.cost is None:
        return Step(_("Cost"), _("No price is known for {gpu}.").format(gpu=option.candidate.gpu.id), lesson)
    cost = option.cost
    text = _(
        "{gpus} x {price} = {hour} an hour, {month} a month of {hours:g} hours. At the stated peak that is {million} "
        "for a million tokens in and out, or {output} for a million output tokens. Price: {source}."
    ).format(
        gpus=cost.gpus,
        price=usd(cost.price.usd_per_hour),
        hour=usd(cost.usd_per_hour),
        month=usd(cost.usd_per_month),
        hours=HOURS_PER_MONTH,
        million=usd(cost.usd_per_million_tokens),
        output=usd(cost.usd_per_million_output_tokens),
        source=cost.price.source,
    )
    return Step(_("Cost"), text, lesson)
