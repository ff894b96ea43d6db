"""`--explain`: the plan's arithmetic, factor by factor, in the way one would check it by hand."""

from __future__ import annotations

from collections.abc import Iterable

from bide.facts.deployment import Deployment
from bide.i18n import _, ngettext
from bide.plan.answer import Plan, ServicePlan
from bide.plan.cost import HOURS_PER_MONTH, Cost
from bide.plan.measured.capacity import measured_of
from bide.plan.mix import BIN_TOKENS
from bide.plan.option import Option, Pools
from bide.report.plan_steps import factors_text
from bide.report.plan_text import plan_notes_text
from bide.report.words import seconds, usd_per_hour
from bide.units import format_bytes, format_gib


def plan_explain(plan: Plan, width: int = 120) -> str:
    """Lines of `what = factors = value` for each service that can be met; what is not counted, and the sources."""
    lines = [_("Arithmetic (likely values)")]
    for service in plan.services:
        if service.chosen:
            lines += ["", service.service.name, *(f"  {line}" for line in _service(service, service.chosen))]
    return "\n".join(lines) + "\n\n" + plan_notes_text(plan, width)


def _service(plan: ServicePlan, option: Option) -> Iterable[str]:
    return [line for lines in explained(plan, option).values() for line in lines]


def explained(plan: ServicePlan, option: Option) -> dict[str, list[str]]:
    """The same by what it is about: `memory`, `speed`, `count` (of replicas and GPUs) and `cost`."""
    return {
        "memory": list(_memory(option)),
        "speed": list(_speed(option)) if option.pools is None else [],
        "count": list(_count(plan, option)),
        "cost": list(_cost(option.cost)) if option.cost else [],
    }


def _memory(option: Option) -> Iterable[str]:
    candidate = option.candidate
    ledger, replica = candidate.memory.ledger, candidate.likely
    yield _(
        "pool: {total} GiB - {unused} unused - {weights} weights - {activation} activations - {runtime} CUDA "
        "- {graph} graphs = {pool} GiB"
    ).format(
        total=format_gib(ledger.total_bytes),
        unused=format_gib(ledger.unused_bytes),
        weights=format_gib(ledger.weights_bytes),
        activation=format_gib(ledger.activation_bytes),
        runtime=format_gib(ledger.runtime_bytes),
        graph=format_gib(ledger.graph_bytes),
        pool=format_gib(ledger.pool_bytes),
    )
    yield _(
        "a running request: {tokens:,.0f} tokens on average at a random instant ({what}, "
        "weighted by output; {bin}-token bins) x {token} = {request}"
    ).format(
        tokens=sum(context * share for context, share in candidate.held.items()),
        what=_held(candidate.deployment),
        bin=BIN_TOKENS,
        token=format_bytes(candidate.memory.kv.per_gpu.growing_bytes_per_token),
        request=format_bytes(candidate.held_bytes),
    )
    yield _(
        "requests at once: min(pool in blocks / blocks of such requests = {fit:.1f}, max_num_seqs = {seqs}) = {slots}"
    ).format(fit=replica.pool_requests, seqs=replica.most_requests, slots=replica.slots)


def _held(deployment: Deployment) -> str:
    if deployment.engine.reserves_output:
        return _("prompt + the whole output, which this engine reserves")
    return _("prompt + half the output")


def _speed(option: Option) -> Iterable[str]:
    """In closed form, which the simulation of bursts and lengths stands above."""
    replica, rps = option.candidate.likely, option.reading.requests_per_s
    steady = replica.at(rps)
    if steady is None:
        return
    table, running = replica.table, max(steady.decoding, 1.0)
    yield _(
        "a decode step of {b:.1f}: {fixed} fixed + {linear} weights + {b:.1f} x ({kv} cache + {each} else) = {step}"
    ).format(
        b=running,
        fixed=seconds(float(table.fixed_s)),
        linear=seconds(float(table.linear(running))),
        kv=seconds(float(replica.kv_bytes * table.per_kv_byte_s)),
        each=seconds(float(table.per_sequence_s)),
        step=seconds(steady.decode_step_s),
    )
    yield _("prefill: {rate:g} requests/s x {prompt} a prompt = {share:.1%} of the time").format(
        rate=rps, prompt=seconds(steady.prefill_share / rps), share=steady.prefill_share
    )
    text = _(
        "time per token: {step} / (1 - {share:.3f}) = {tpot} on average, in closed form; the percentiles are simulated"
    )
    if measured_of(option.candidate):
        text = _(
            "time per token: {step} / (1 - {share:.3f}) = {tpot} on average, in closed form; percentiles: measured"
        )
    yield text.format(step=seconds(steady.decode_step_s), share=steady.prefill_share, tpot=seconds(steady.tpot_s))


def _count(plan: ServicePlan, option: Option) -> Iterable[str]:
    traffic = plan.service.traffic
    yield _("planned: {factors} = {planned:g} requests/s").format(
        factors=factors_text(traffic), planned=traffic.planned_rps
    )
    if option.pools is not None:
        yield from _pools(option, option.pools, traffic.planned_rps)
        return
    yield _("each replica: {planned:g} requests/s / {replicas} = {rate:g} requests/s{kept}{added}").format(
        planned=traffic.planned_rps,
        replicas=option.replicas,
        rate=option.reading.requests_per_s,
        kept=_kept(option),
        added=_added(plan),
    )
    yield _("GPUs: ({replicas} + {spare} spare) replicas x {each} = {gpus}").format(
        replicas=option.replicas, spare=option.spare, each=option.candidate.gpus, gpus=option.gpus
    )


def _pools(option: Option, pools: Pools, planned_rps: float) -> Iterable[str]:
    """How busy either pool is, and what was simulated above that."""
    for name, count, rps in (
        (_("prompts"), pools.pair.prefill, pools.prompts_rps.mid),
        (_("answers"), pools.pair.decode, pools.answers_rps.mid),
    ):
        text = _("{stage}: {planned:g} requests/s / ({count} replicas x {rps:.4g} worked off) = {share:.0%} busy")
        yield text.format(stage=name, planned=planned_rps, count=count, rps=rps, share=planned_rps / (count * rps))
    yield _(
        "GPUs: ({prefill} + {decode} replicas + {spare} spare) x {each} = {gpus}; with fewer replicas none holds in "
        "the search"
    ).format(
        prefill=pools.pair.prefill,
        decode=pools.pair.decode,
        spare=option.spare,
        each=option.candidate.gpus,
        gpus=option.gpus,
    )


def _kept(option: Option) -> str:
    if option.kept_rps is None:
        return ""
    text = _(
        "; one of so many keeps the patience up to {kept:.4g}, and of fewer would have to carry more than it keeps"
    )
    return text.format(kept=option.kept_rps.mid)


def _added(plan: ServicePlan) -> str:
    if plan.verified is None or not plan.verified.added:
        return ""
    added = plan.verified.added
    text = ngettext(
        "; {n} of them was added for the whole fleet", "; {n} of them were added for the whole fleet", added
    )
    return text.format(n=added)


def _cost(cost: Cost) -> Iterable[str]:
    yield _("a month: {gpus} GPUs x {usd} x {hours:g} hours = ${month:,.2f}").format(
        gpus=cost.gpus, usd=usd_per_hour(cost.price.usd_per_hour), hours=HOURS_PER_MONTH, month=cost.usd_per_month
    )
    yield _(
        "a million tokens at the stated peak: ${hour:.2f} an hour / ({tokens:,.0f} tokens/s x 3,600) x 1,000,000 = "
        "${usd:.3f}"
    ).format(hour=cost.usd_per_hour, tokens=cost.peak.tokens_per_s, usd=cost.usd_per_million_tokens)
