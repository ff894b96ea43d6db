"""Which input moves the answer most, and the measurement that would narrow it."""

from __future__ import annotations

from bide.i18n import _
from bide.plan.answer import ServicePlan
from bide.plan.measured.capacity import measured_of
from bide.report.plan_parts import Section, Table
from bide.report.words import count, listed, usd


def _to_measure(service: ServicePlan) -> str:
    """With a place for the command."""
    if service.chosen and service.chosen.pools:
        return _(
            "Measure the smallest such fleet, one replica for either stage behind a router, to narrow it: {command}"
        )
    if service.chosen and measured_of(service.chosen.candidate):
        return _("Another load to measure, that of a replica in this fleet: {command}")
    return _("Measure one replica to narrow it: {command}")


def swings_section(service: ServicePlan) -> Section:
    """What moves the answer most, and what to measure."""
    lines = []
    if service.swings:
        first = [swing.input for swing in service.swings[:3]]
        lines.append(_("What moves the answer most: {names}.").format(names=listed(first)))
    if service.measure_with:
        lines.append(_to_measure(service).format(command=service.measure_with))
    headers = (_("input"), _("from"), _("to"), _("GPUs, from"), _("GPUs, to"), _("a month, from"), _("a month, to"))
    rows = tuple(
        (
            swing.input,
            swing.low,
            swing.high,
            _gpus(swing.low_gpus),
            _gpus(swing.high_gpus),
            _bill(swing.low_usd_per_month),
            _bill(swing.high_usd_per_month),
        )
        for swing in service.swings
    )
    legend = _("One input at a time, everything else as planned, the chosen setting sized anew in whole replicas.")
    lesson = _("What swings the answer most is what to measure or to agree on first.")
    tables = (Table(headers, rows, (), legend),) if rows else ()
    return Section("swings", _("How sure, and what moves it"), tuple(lines), (), tables, (), lesson)


def _gpus(gpus: int | None) -> str:
    return _("no number does it") if gpus is None else count(gpus)


def _bill(value: float | None) -> str:
    return "–" if value is None else usd(value)
