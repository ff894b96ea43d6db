"""The first three of the five steps: how long users wait, how many come, and what one replica does with them."""

from __future__ import annotations

from collections.abc import Iterable

from bide.i18n import _
from bide.interval import Interval
from bide.plan.answer import Plan, ServicePlan
from bide.plan.findings import Reading
from bide.plan.measured.capacity import measured_of
from bide.plan.option import Option
from bide.plan.question import Traffic
from bide.plan.telling import outweighing_requests
from bide.report.curve_sentences import waits_for
from bide.report.plan_asked import asked_of, names_text, patience_text
from bide.report.plan_measured import carries_text, levels_table
from bide.report.plan_parts import Section
from bide.report.plan_pools import card_lines
from bide.report.words import cards, count, listed, rate
from bide.units import format_bytes, format_gib, format_rate
from bide.workload.requests import summarise


def patience_step(plan: Plan, service: ServicePlan) -> Section:
    """1: the limits, and whether anybody said them."""
    asked = patience_text(service.service)
    name = _("patience of {name}").format(name=service.service.name)
    assumed = any(assumption.name == name for assumption in plan.question.assumptions)
    text = _("{limits} ({origin}).").format(limits=asked, origin=_("assumed") if assumed else _("as asked"))
    whole = any(limit.measure.latency == "e2e" for limit in service.service.patience)
    how = _("For whole answers: nobody reads along.") if whole else _("For answers that are read as they come.")
    lesson = _(
        "How long users wait decides how full a GPU may be, and with that the bill. A mean hides the slow ones: limits "
        "are on percentiles."
    )
    return Section("patience", _("Patience"), (f"{text} {how}",), (names_text(service.service),), lesson=lesson)


def peak_step(service: ServicePlan) -> Section:
    """2: the rate that is planned for, and the requests."""
    traffic, work = service.service.traffic, service.service.workload
    prompt, output = summarise(work.prompt_tokens), summarise(work.output_tokens)
    text = _(
        "{factors} = {planned}. A request has {prompt} prompt and {output} output tokens on average (95% of "
        "them at most {prompt95} and {output95}), {total} together."
    ).format(
        factors=factors_text(traffic),
        planned=format_rate(traffic.planned_rps),
        prompt=count(prompt.mean),
        output=count(output.mean),
        prompt95=count(prompt.p95),
        output95=count(output.p95),
        total=count(prompt.mean + output.mean),
    )
    peak = (_("The peak: {origin}.").format(origin=traffic.peak_from),) if traffic.peak_from else ()
    day = (_("The day: {origin}.").format(origin=traffic.hours_from),) if traffic.hours_from else ()
    lesson = _(
        "A fleet is sized for its busiest minute, and that is mostly a guess: hence a margin, as a number of its own."
    )
    return Section("peak", _("Peak"), (text, *peak), day, lesson=lesson)


def factors_text(traffic: Traffic) -> str:
    """`12 requests/s at the peak x growth 1.2 x margin 1.5`."""
    text = _("{peak} at the peak").format(peak=format_rate(traffic.peak_rps))
    if traffic.growth != 1:
        text += _(" x growth {growth:g}").format(growth=traffic.growth)
    return text + _(" x margin {margin:g}").format(margin=traffic.margin)


def card_step(service: ServicePlan) -> Section:
    """3: one replica of the chosen candidate with the workload's own requests."""
    title, option = _("One card with the production mix"), service.chosen
    lesson = _(
        "Every token of every running request stays in GPU memory; each step reads all the weights once, for however "
        "many requests. A bigger batch is cheaper, and slower."
    )
    if option is None:
        return Section("card", title, (_none_keeps(service),))
    if option.pools is not None:
        lines = (_memory(option), *card_lines(service, option, option.pools))
        return Section("card", title, lines, (waits_for(option.reading.bound), *_outweighs(option)), lesson=lesson)
    measured = measured_of(option.candidate)
    carries = carries_text(option, measured) if measured else _carries(option)
    lines = (_memory(option), carries, _at_its_share(service, option.reading))
    more = (waits_for(option.reading.bound), *_outweighs(option))
    tables = (levels_table(service, measured),) if measured else ()
    return Section("card", title, lines, more, tables, tables, lesson)


def _none_keeps(service: ServicePlan) -> str:
    """Some would with more GPUs, or none ever does."""
    if any(rejection.unit == "GPUs" for rejection in service.rejections):
        return _("No candidate keeps the patience on as many GPUs as are allowed.")
    return _("No candidate keeps the patience, whatever the number of GPUs.")


def _memory(option: Option) -> str:
    candidate = option.candidate
    memory = candidate.memory
    text = _(
        "A replica is {cards}. A token keeps {token} of cache on each GPU, a running request {request} on average. Of "
        "the card's {card} GiB the weights take {weights} and the cache pool gets {pool} ({low} to {high}): room for "
        "{slots} such requests at once."
    )
    return text.format(
        cards=cards(candidate.deployment, candidate.gpus),
        token=format_bytes(memory.kv.per_gpu.growing_bytes_per_token),
        request=format_bytes(candidate.held_bytes),
        card=format_gib(memory.ledger.total_bytes),
        weights=format_gib(memory.ledger.weights_bytes),
        pool=format_gib(memory.pool_bytes.mid),
        low=format_gib(memory.pool_bytes.low),
        high=format_gib(memory.pool_bytes.high),
        slots=count(candidate.likely.slots),
    )


def _carries(option: Option) -> str:
    stable = _("works off a backlog at {rates}").format(rates=_rates(option.highest_stable_rps))
    if option.kept_rps is None:
        return _("Simulated with these requests, it {stable} requests/s.").format(stable=stable)
    return _("Simulated with these requests, it keeps the patience up to {kept} requests/s, and {stable}.").format(
        kept=_rates(option.kept_rps), stable=stable
    )


def _rates(rates: Interval) -> str:
    """`2.6 (0 to 4.1)`: 0 where the slow end never keeps it."""
    low, mid, high = (rate(value) for value in (rates.low, rates.mid, rates.high))
    return _("{mid} ({low} to {high})").format(mid=mid, low=low, high=high)


def _at_its_share(service: ServicePlan, reading: Reading) -> str:
    text = _("At its share, {rate}, {running} run at once and prompts take {share:.0%} of the time: {asked}.")
    asked = [f"{each.name} {each.text(reading)}" for each in asked_of(service.service)]
    said = text.format(
        rate=format_rate(reading.requests_per_s),
        running=rate(reading.running_requests or 0.0),
        share=reading.prefill_share or 0.0,
        asked=listed(asked),
    )
    return " ".join([said, *_cache(service, reading)])


def _cache(service: ServicePlan, reading: Reading) -> Iterable[str]:
    """What the prefix cache finds, and how often the pool overflows; nothing where they do neither."""
    if service.service.trace is not None and reading.cached_share is not None:
        yield _("{share:.0%} of the prompt tokens are found in the prefix cache.").format(share=reading.cached_share)
    if reading.preemptions_per_request and reading.preemptions_per_request >= 0.001:
        text = _("{share:.1%} of the requests are preempted because the pool overflows.")
        yield text.format(share=reading.preemptions_per_request)


def _outweighs(option: Option) -> Iterable[str]:
    requests = outweighing_requests(option.candidate)
    if requests is not None and requests <= option.candidate.likely.slots:
        yield _("From {n} requests at once on their cache outweighs the weights.").format(n=count(requests))
