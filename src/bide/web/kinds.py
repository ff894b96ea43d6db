"""The kinds of jobs, and the shape of what each is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bide.errors import UnknownName
from bide.i18n import _
from bide.web import job_asks
from bide.web.answers import checked
from bide.web.shapes import Shape

KINDS: Mapping[str, type[Shape]] = {
    "simulate": job_asks.SimulateAsk,
    "plan": job_asks.PlanAsk,
    "calibrate": job_asks.CalibrateAsk,
    "compare": job_asks.CompareAsk,
    "measure": job_asks.MeasureAsk,
    "describe": job_asks.DescribeAsk,
}


def asked(kind: str, body: Mapping[str, Any] | Shape) -> Shape:
    """`body` in the shape of `kind`. Raises UnknownName, BadInput."""
    if kind not in KINDS:
        raise UnknownName("kind", kind, KINDS, _("one of {names}").format(names=", ".join(KINDS)))
    return checked(KINDS[kind], body)
