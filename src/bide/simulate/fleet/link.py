"""How a prompt's cache gets from the engine that computed it to the one that answers.

Every GPU sends the part that it holds over its own link, all at the same time. A link moves one
prompt's cache at a time, at its full rate, and those that are ready wait for it in order; so do
those that go to the same engine.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.layers import Cost
from bide.i18n import _
from bide.simulate.fleet.rules import FleetRules
from bide.sourced import Assumption

LATENCY_S = 1e-3
"""Assumed: to post the transfer and to notice its end, which engines look for once a step."""


@dataclass(frozen=True, slots=True)
class Link:
    """Of each GPU, one direction."""

    bytes_per_s: float
    latency_s: float
    kind: str

    @property
    def assumption(self) -> Assumption:
        what = _("{rate:.4g} GB/s for each GPU ({kind}), {latency:.3g} ms").format(
            rate=self.bytes_per_s / 1e9, kind=self.kind, latency=self.latency_s * 1e3
        )
        why = _("at its full rate, one prompt at a time; blocks are taken at arrival, and given up when it begins")
        return Assumption(_("cache transfer"), what, why)


def link_of(deployment: Deployment, rules: FleetRules) -> Link:
    """The link that was given; else that within a node where all replicas fit in one, else the node's network.

    Raises BadInput where the catalogue has neither.
    """
    latency_s = LATENCY_S if rules.link_latency_s is None else rules.link_latency_s
    if rules.link_bytes_per_s is not None:
        return Link(rules.link_bytes_per_s, latency_s, _("as given"))
    gpu = deployment.gpu
    assert gpu is not None  # there are no step times without one
    within = deployment.replica_gpus * rules.all_replicas <= gpu.link_domain_gpus
    if within and gpu.link_bytes_per_s > 0:
        return Link(gpu.link_bytes_per_s, latency_s, gpu.link_kind)
    if gpu.network_bytes_per_s is None:
        allowed = _("bytes a second of each GPU's network, such as 50GB: the catalogue has none for {gpu}")
        raise BadInput("link_bandwidth", None, allowed.format(gpu=gpu.id))
    return Link(gpu.network_bytes_per_s, latency_s, _("network between nodes"))


class Transfers:
    """The links of a fleet, and until when each is taken."""

    def __init__(self, link: Link, cache: Cost) -> None:
        self._link, self._cache = link, cache
        self._out_until_s: defaultdict[int, float] = defaultdict(float)
        self._in_until_s: defaultdict[int, float] = defaultdict(float)

    def send(self, source: int, target: int, tokens: int, now_s: float) -> float:
        """When the cache of `tokens` that engine `source` has now is at engine `target`."""
        begin_s = max(now_s, self._out_until_s[source], self._in_until_s[target])
        end_s = begin_s + self._cache.request_bytes(tokens) / self._link.bytes_per_s
        self._out_until_s[source] = self._in_until_s[target] = end_s
        return end_s + self._link.latency_s
