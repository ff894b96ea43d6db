"""How far a plan is, in words."""

from __future__ import annotations

from bide.i18n import _
from bide.plan.search import Progress
from bide.report.words import so_many_gpus


def best_so_far(progress: Progress) -> str:
    """The GPUs of the best fleets, once every service has one."""
    found = [option.gpus for option in progress.best if option]
    if not found or len(found) < len(progress.best):
        return _("planning")
    return _("best so far: {gpus}").format(gpus=so_many_gpus(sum(found)))
