"""A disaggregated fleet as plain data: its pools, the link between them, and the commands of either."""

from __future__ import annotations

import shlex
from typing import Any

from bide.plan.details_dict import span_dict
from bide.plan.disaggregated.cell import part_of
from bide.plan.disaggregated.pair import Pair
from bide.plan.option import Option, Pools
from bide.plan.pooled_flags import ROLES, remarks_of, role_serving


def pools_dict(option: Option, pools: Pools) -> dict[str, Any]:
    """Rates in requests a second of one replica, bytes a second of one GPU's link."""
    commands = {role: role_serving(option.candidate.deployment, role) for role in ROLES}
    return {
        **_counts(pools.pair),
        "simulated_part": _part(option, pools.pair),
        "surely": _counts(pools.surely),
        "fast": _counts(pools.fast),
        "spare_replicas_each": option.spare // 2,
        "prefill_rps_per_replica": span_dict(pools.prompts_rps),
        "decode_rps_per_replica": span_dict(pools.answers_rps),
        "running_requests_per_decode_replica": pools.running,
        "link": {
            "kind": pools.link.kind,
            "bytes_per_s": pools.link.bytes_per_s,
            "latency_s": pools.link.latency_s,
            "mean_transfer_s": pools.transfer_s,
        },
        "serve": {role: shlex.join(command.argv) for role, command in commands.items()},
        "serve_remarks": list(remarks_of([*commands.values()])),
    }


def _part(option: Option, pair: Pair) -> dict[str, float] | None:
    """Engines of a large fleet that the search simulated; None where it was all of them."""
    engines = option.candidate.setup.engines
    part = part_of(pair.prefill * engines, pair.decode * engines)
    return None if part is None else {"prefill_engines": part.prompts, "decode_engines": part.answers}


def _counts(pair: Pair | None) -> dict[str, int | None]:
    return {
        "prefill_replicas": pair.prefill if pair else None,
        "decode_replicas": pair.decode if pair else None,
    }
