"""Running what was chosen: the bill by what is served, energy, an API instead, the day, and when to add a replica."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bide.facts.engine_metrics import OBSERVED_ENGINES, engine_metrics
from bide.i18n import _, numeral
from bide.plan.answer import ServicePlan
from bide.plan.autoscale import Autoscaling
from bide.plan.break_even import BreakEven
from bide.plan.cost import HOURS_PER_MONTH, Cost, UnitCost
from bide.plan.energy import Energy
from bide.plan.operation import Operation
from bide.plan.option import Option
from bide.plan.serving.transfer import Role
from bide.plan.thresholds import Thresholds
from bide.report.plan_parts import Section, Table
from bide.report.words import count, rate, rounded, seconds, so_many_replicas, usd, usd_per_hour
from bide.units import format_rate

_NONE = "–"


def cost_section(service: ServicePlan, option: Option) -> Section:
    """The bill and what it comes to, energy, and an API instead."""
    lesson = _("An idle GPU costs the same: the price of a token is the bill divided by what is really served.")
    if option.cost is None:
        lines: tuple[str, ...] = (_("No price is known for {gpu}.").format(gpu=option.candidate.gpu.id),)
        tables: tuple[Table, ...] = ()
    else:
        lines, tables = (_bill(option.cost),), (_units(option.cost),)
    running = service.operation
    if running is not None and running.api is not None:
        lines += (_api(running.api),)
    if running is not None and running.energy is not None:
        lines += (_energy(running.energy),)
    return Section("cost", _("Cost"), lines, (), tables, (), lesson)


def _bill(cost: Cost) -> str:
    unit = cost.at_mean or cost.at_peak
    text = _(
        "{gpus} x {price} = {hour} an hour, {month} a month of {hours:g} hours. {load} that is {request} a request, "
        "{million} for a million tokens in and out, {output} for a million output tokens if they bear it all{user}. "
        "Price: {source}."
    )
    return text.format(
        gpus=cost.gpus,
        price=usd_per_hour(cost.price.usd_per_hour),
        hour=usd_per_hour(cost.usd_per_hour),
        month=usd(cost.usd_per_month),
        hours=HOURS_PER_MONTH,
        load=_("At the day's mean load") if cost.at_mean else _("At the stated peak"),
        request=usd(unit.usd_per_request),
        million=usd(unit.usd_per_million_tokens),
        output=usd(unit.usd_per_million_output_tokens_alone),
        user=_a_user(cost.usd_per_user_month),
        source=cost.price.source,
    )


def _a_user(usd_per_month: float | None) -> str:
    return "" if usd_per_month is None else _(", {usd} a user a month").format(usd=usd(usd_per_month))


def _units(cost: Cost) -> Table:
    """Prices by what is served, at the peak and at the mean load."""
    units = [cost.at_peak] + ([cost.at_mean] if cost.at_mean else [])
    headers = (_("USD for"), _("at the stated peak")) + ((_("at the day's mean"),) if cost.at_mean else ())
    rows = tuple((name, *(_usd(value) for value in values)) for name, *values in _unit_rows(units))
    if cost.usd_per_user_month is not None:
        rows += ((_("a user a month"), *[usd(cost.usd_per_user_month)] * len(units)),)
    legend = _(
        "Input and output divided: by the share of the GPUs' busy time that prompts take ({share}). They add up to the "
        "bill; the last line puts all of it on the output."
    )
    share = _NONE if cost.prefill_share is None else numeral(cost.prefill_share, ".0%")
    return Table(headers, rows, (), legend.format(share=share))


def _unit_rows(units: list[UnitCost]) -> Iterable[tuple[str, *tuple[float | None, ...]]]:
    yield _("a request"), *(unit.usd_per_request for unit in units)
    yield _("a million tokens, in and out"), *(unit.usd_per_million_tokens for unit in units)
    yield _("a million input tokens, divided"), *(unit.usd_per_million_input_tokens for unit in units)
    yield _("a million output tokens, divided"), *(unit.usd_per_million_output_tokens for unit in units)
    yield _("a million output tokens, alone"), *(unit.usd_per_million_output_tokens_alone for unit in units)


def _usd(value: float | None) -> str:
    return _NONE if value is None else usd(value)


def _energy(energy: Energy) -> str:
    text = _(
        "Energy: at most {kw} kW for the GPUs ({gpus} x {tdp:g} W, their TDP all the time), {kwh} kWh a month, "
        "{million} kWh for a million tokens at the peak; servers and cooling come on top. TDP: {source}."
    )
    return text.format(
        kw=numeral(rounded(energy.watts / 1e3, 3), "g"),
        gpus=energy.gpus,
        tdp=energy.tdp_w,
        kwh=count(energy.kwh_per_month),
        million=numeral(rounded(energy.kwh_per_million_tokens), "g"),
        source=energy.source,
    )


def _api(api: BreakEven) -> str:
    """On which side of the break-even the service is."""
    text = _(
        "Against an API at {input} and {output} for a million tokens in and out: {api} a month there, {fleet} here. "
        "Owning pays from {rate} on, as a mean over the month; here it is {served}: {verdict}"
    )
    return text.format(
        input=usd(api.price.usd_per_million_input_tokens),
        output=usd(api.price.usd_per_million_output_tokens),
        api=usd(api.api_usd_per_month),
        fleet=usd(api.fleet_usd_per_month),
        rate=format_rate(api.requests_per_s),
        served=rate(api.served_rps),
        verdict=_api_verdict(api),
    )


def _api_verdict(api: BreakEven) -> str:
    if api.owning_is_cheaper:
        return _("owning is cheaper.")
    if api.within_reach:
        return _("the API is cheaper.")
    return _("the API is cheaper, and this fleet cannot carry the load at which it would pay.")


def running_section(service: ServicePlan, option: Option) -> Section | None:
    """The day and the thresholds; None where there is neither."""
    operation = service.operation
    if operation is None or not operation.scalings:
        return None
    engine = option.candidate.deployment.engine.name
    lines, tables = tuple(_lines(operation, engine)), tuple(_tables(operation, engine))
    lesson = _("A replica that is asked for when the queue is there comes too late: it is started by what came before.")
    return Section("running", _("Autoscaling"), lines, (), tables, (), lesson)


def _lines(operation: Operation, engine: str) -> Iterable[str]:
    if operation.autoscaling:
        yield _day(operation.autoscaling)
    for scaling in operation.scalings:
        said = _scale(scaling.thresholds, engine)
        yield f"{_kind(scaling.role)}: {said}" if scaling.role else said


def _tables(operation: Operation, engine: str) -> Iterable[Table]:
    for scaling in operation.scalings:
        table = _thresholds(scaling.thresholds, engine)
        yield replace(table, legend=f"{_kind(scaling.role)}.") if scaling.role else table


def _kind(role: Role) -> str:
    return {"prefill": _("Replicas for prompts"), "decode": _("Replicas for answers")}[role]


def _day(scaled: Autoscaling) -> str:
    text = _(
        "Fixed, the fleet takes {fixed} GPU-hours a day; by the clock {clock} ({share:.0%} less{usd}), by the "
        "thresholds {reactive}. A start of {start} is honoured."
    )
    saved = scaled.usd_saved_per_month
    return text.format(
        fixed=count(scaled.fixed_gpu_hours),
        clock=count(scaled.scheduled_gpu_hours),
        reactive=count(scaled.reactive_gpu_hours),
        share=scaled.saved_share,
        usd="" if saved is None else _(", {usd} a month if GPUs that are off are not paid for").format(usd=usd(saved)),
        start=seconds(scaled.scale_up_s),
    )


def _scale(found: Thresholds, engine: str) -> str:
    if found.min_replicas == found.max_replicas:
        always = so_many_replicas(found.max_replicas)
        return _("Always {replicas}: there is nothing to scale.").format(replicas=always)
    (followed, most, _why), (waiting, *_waits), _cache = _targets(found, engine)
    text = _(
        "Between {fewest} and {most} replicas: one more where, on average, {running} is above {n} or {waiting} above "
        "{queued}; one less after {down}."
    )
    return text.format(
        fewest=found.min_replicas,
        most=found.max_replicas,
        running=followed,
        n=most,
        waiting=waiting,
        queued=rate(found.waiting_requests),
        down=seconds(found.scale_down_s),
    )


def _targets(found: Thresholds, engine: str) -> Iterable[tuple[str, str, str]]:
    """The engine's metric, its target, and the arithmetic: first of what follows the load."""
    if found.prompt_tokens_per_s is not None:
        name = _metric(engine, "prefilled", _("prompt tokens"))
        yield f"rate({name})", count(found.prompt_tokens_per_s), found.why["prompt_tokens_per_s"]
    if found.running_requests is not None:
        name = _metric(engine, "running", _("requests running"))
        yield name, rate(found.running_requests), found.why["running_requests"]
    name = _metric(engine, "waiting", _("requests waiting"))
    yield name, rate(found.waiting_requests), found.why["waiting_requests"]
    name = _metric(engine, "kv_usage", _("use of the cache"))
    yield name, numeral(found.kv_usage, ".2g"), found.why["kv_usage"]


def _metric(engine: str, role: str, plain: str) -> str:
    named = engine_metrics(engine).names if engine in OBSERVED_ENGINES else {}
    return f"{engine}:{named[role][0].name}" if named.get(role) else plain


def _thresholds(found: Thresholds, engine: str) -> Table:
    """Every figure with its arithmetic."""
    rows = [
        (_("requests/s of a replica"), rate(found.requests_per_s), found.why["requests_per_s"]),
        *_targets(found, engine),
        (_("fewest replicas"), count(found.min_replicas), found.why["min_replicas"]),
        (_("most replicas"), count(found.max_replicas), found.why["max_replicas"]),
        (_("stabilisation"), seconds(found.scale_down_s), found.why["scale_down_s"]),
    ]
    return Table((_("threshold"), _("value"), _("why")), tuple(rows), wide=True)
