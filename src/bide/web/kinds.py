"""The kinds of jobs, and the shape of what each is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bide.errors import UnknownName
from bide.i18n import _
from bide.web import asks
from bide.web.answers import checked

KINDS: Mapping[str, type[asks.Shape]] = {
    "simulate": asks.SimulateAsk,
    "plan": asks.PlanAsk,
    "calibrate": asks.CalibrateAsk,
    "compare": asks.CompareAsk,
    "measure": asks.MeasureAsk,
    "describe": asks.DescribeAsk,
}


def asked(kind: str, body: Mapping[str, Any] | asks.Shape) -> asks.Shape:
    """`body` in the shape of `kind`. Raises UnknownName, BadInput."""
    if kind not in KINDS:
        raise UnknownName("kind", kind, KINDS, _("one of {names}").format(names=", ".join(KINDS)))
    return checked(KINDS[kind], body)
