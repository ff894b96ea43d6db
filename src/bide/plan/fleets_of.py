"""The fleets that an option is one of."""

from __future__ import annotations

from typing import Any

from bide.plan.colocated import Colocated
from bide.plan.disaggregated.pooled import Pooled
from bide.plan.fleets import Fleets
from bide.plan.option import Option
from bide.plan.reading import capacity_of
from bide.simulate.fleet.rules import RouterName


def fleets_of(option: Option, router: RouterName) -> Fleets[Any]:
    """Of replicas that do both stages, or one of the two."""
    if option.pools is None:
        return Colocated(capacity_of(option.candidate, router=router))
    return Pooled(option.candidate, option.pools.pair, router)
