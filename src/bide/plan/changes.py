"""What two questions ask differently, input by input, and how to change one into the other a step at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from typing import Any

from bide.i18n import _, numeral
from bide.plan.question import Goodput, Limit, Question, Service
from bide.units import format_rate, format_seconds

Put = Callable[[Question], Question]


@dataclass(frozen=True, slots=True)
class Change:
    """An input that differs: of which service (empty: of all), what it is called, and both values in words."""

    service: str
    input: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """A change, how to make it, and whether the number of GPUs or their price can depend on it."""

    change: Change
    put: Put
    matters: bool = True


@dataclass(frozen=True, slots=True)
class _Input:
    """Fields of a service (of its `part`, where named) that are changed together."""

    name: str
    fields: tuple[str, ...]
    say: Callable[[Service], str]
    part: str = ""
    matters: bool = True

    def put(self, service: Service, new: Service) -> Service:
        """`service` with the fields of `new`."""
        there = self._holder(new)
        values: dict[str, Any] = {name: getattr(there, name) for name in self.fields}
        if not self.part:
            return replace(service, **values)
        return replace(service, **{self.part: replace(self._holder(service), **values)})

    def same(self, one: Service, other: Service) -> bool:
        """Whether the fields are the same, wherever they are from."""
        if "workload" in self.fields:
            return _same_requests(one, other)
        compared = [name for name in self.fields if not name.endswith("_from")]
        return all(getattr(self._holder(one), name) == getattr(self._holder(other), name) for name in compared)

    def _holder(self, service: Service) -> Any:
        return getattr(service, self.part) if self.part else service


def _inputs() -> tuple[_Input, ...]:
    """In the order in which they are changed: what is asked, how often, how soon, and how it is run."""
    return (
        _Input(_("name"), ("name",), lambda s: s.name, matters=False),
        _Input(_("model"), ("model",), lambda s: s.model.name),
        _Input(_("workload"), ("workload", "trace"), _requests),
        _Input(
            _("peak"),
            ("peak_rps", "peak_from"),
            lambda s: format_rate(s.traffic.peak_rps, 4),
            "traffic",
        ),
        _Input(_("growth"), ("growth",), lambda s: "x " + numeral(s.traffic.growth, "g"), "traffic"),
        _Input(_("margin"), ("margin",), lambda s: "x " + numeral(s.traffic.margin, "g"), "traffic"),
        _Input(_("hours"), ("hours", "hours_from"), _hours, "traffic", matters=False),
        _Input(_("users"), ("users",), lambda s: numeral(s.traffic.users or 0, ",g"), "traffic", matters=False),
        _Input(_("patience"), ("patience", "goodput"), lambda s: patience_text(s.patience, s.goodput)),
        _Input(_("deployment"), ("engine", "choices", "disaggregated"), _deployment),
        _Input(_("API price"), ("api_price",), _api_price, matters=False),
    )


def moves(old: Question, new: Question) -> Iterator[Move]:
    """From `old` to `new`: services taken away, inputs of those in both, hardware, fleet, services added."""
    pairs = _pairs(old, new)
    for one, other in pairs:
        if other is None and one is not None:
            yield _without(one)
    for one, other in pairs:
        if one is not None and other is not None:
            yield from _of_service(one, other)
    yield from _hardware(old, new)
    for field in fields(old.fleet):
        one_value, other_value = getattr(old.fleet, field.name), getattr(new.fleet, field.name)
        if one_value != other_value:
            yield _fleet(field.name, one_value, other_value)
    for one, other in pairs:
        if one is None and other is not None:
            yield _with(other)


def _pairs(old: Question, new: Question) -> list[tuple[Service | None, Service | None]]:
    """Services of one name; those left over one by one, as renamed; then what only one of them has."""
    theirs = {service.name: service for service in new.services}
    ours = {service.name for service in old.services}
    both: list[tuple[Service | None, Service | None]] = [
        (service, theirs[service.name]) for service in old.services if service.name in theirs
    ]
    gone = [service for service in old.services if service.name not in theirs]
    come = [service for service in new.services if service.name not in ours]
    return both + list(zip_longest(gone, come))


def _without(service: Service) -> Move:
    def put(question: Question) -> Question:
        return replace(question, services=tuple(s for s in question.services if s.name != service.name))

    return Move(Change(service.name, _("service"), service.model.name, _("none")), put)


def _with(service: Service) -> Move:
    def put(question: Question) -> Question:
        return replace(question, services=(*question.services, service))

    return Move(Change(service.name, _("service"), _("none"), service.model.name), put)


def _of_service(one: Service, other: Service) -> Iterator[Move]:
    """Every input that differs; the name is changed first, so that the others find the service by its new one."""
    for each in _inputs():
        if each.same(one, other):
            continue
        old_name = one.name if each.fields == ("name",) else other.name

        def put(question: Question, each: _Input = each, name: str = old_name) -> Question:
            changed = (each.put(s, other) if s.name == name else s for s in question.services)
            return replace(question, services=tuple(changed))

        yield Move(Change(other.name, each.name, each.say(one), each.say(other)), put, each.matters)


def _hardware(old: Question, new: Question) -> Iterator[Move]:
    said: tuple[tuple[str, tuple[str, ...], Callable[[Question], str]], ...] = (
        (_("GPUs"), ("gpus",), lambda q: ", ".join(gpu.id for gpu in q.hardware.gpus)),
        (_("most GPUs"), ("max_gpus",), lambda q: numeral(q.hardware.max_gpus, ",")),
        (_("prices"), ("prices", "price_multiplier", "price_note"), _prices),
    )
    for name, keys, say in said:
        values: dict[str, Any] = {key: getattr(new.hardware, key) for key in keys}
        if values == {key: getattr(old.hardware, key) for key in keys}:
            continue

        def put(question: Question, values: dict[str, Any] = values) -> Question:
            return replace(question, hardware=replace(question.hardware, **values))

        yield Move(Change("", name, say(old), say(new)), put)


def _fleet(field: str, old: object, new: Any) -> Move:
    def put(question: Question) -> Question:
        return replace(question, fleet=replace(question.fleet, **{field: new}))

    names = {
        "router": _("router"),
        "spare_replicas": _("spare replicas"),
        "rolling_replicas": _("rolling replicas"),
        "scale_up_s": _("scale up"),
        "share": _("share"),
        "split": _("split"),
    }
    return Move(Change("", names[field], _word(old), _word(new)), put)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return format_seconds(value) if isinstance(value, float) else str(value)


def _same_requests(one: Service, other: Service) -> bool:
    import numpy as np

    columns = ("prompt_tokens", "output_tokens", "gaps")
    if not all(np.array_equal(getattr(one.workload, c), getattr(other.workload, c)) for c in columns):
        return False
    ours, theirs = (service.trace.blocks if service.trace else None for service in (one, other))
    if ours is None or theirs is None:
        return ours is theirs
    return (
        ours.tokens == theirs.tokens
        and np.array_equal(ours.starts, theirs.starts)
        and np.array_equal(ours.ids, theirs.ids)
    )


def _requests(service: Service) -> str:
    work = service.workload
    text = _("{prompt:,.0f} + {output:,.0f} tokens on average ({source})")
    return text.format(prompt=work.prompt_tokens.mean(), output=work.output_tokens.mean(), source=work.source.text)


def _hours(service: Service) -> str:
    hours = service.traffic.hours
    if not hours:
        return _("not known")
    text = _("mean {share:.0%} of the peak")
    return text.format(share=sum(hours) / len(hours))


def patience_text(limits: tuple[Limit, ...], goodput: Goodput | None) -> str:
    """`e2e_p95 5 s, goodput 95% (ttft 1 s)`."""
    parts = [f"{limit.measure.name} {format_seconds(limit.seconds)}" for limit in limits]
    if goodput:
        within = ", ".join(f"{latency} {format_seconds(seconds)}" for latency, seconds in goodput.limits)
        parts.append(_("goodput {share:.4g}% ({within})").format(share=100 * goodput.share, within=within))
    return ", ".join(parts)


def _deployment(service: Service) -> str:
    parts = [f"{key} {value}" for key, value in service.engine.items()]
    parts += [f"{key} {'|'.join(map(str, values))}" for key, values in service.choices.items()]
    if service.may_disaggregate:
        parts.append(_("disaggregated or not") if service.colocated else _("disaggregated"))
    return ", ".join(parts) or _("left to the plan")


def _api_price(service: Service) -> str:
    price = service.api_price
    if price is None:
        return _("none")
    return f"{_usd(price.usd_per_million_input_tokens)} + {_usd(price.usd_per_million_output_tokens)}"


def _usd(amount: float) -> str:
    return _("${amount}").format(amount=numeral(amount, "g"))


def _prices(question: Question) -> str:
    hardware = question.hardware
    parts = [f"{gpu} {_usd(usd)}" for gpu, usd in sorted(hardware.prices.items())] or [_("catalogue")]
    if hardware.price_multiplier != 1:
        parts.append(f"x {numeral(hardware.price_multiplier, 'g')}")
    return ", ".join(parts) + (f" ({hardware.price_note})" if hardware.price_note else "")
