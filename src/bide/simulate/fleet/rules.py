"""What a fleet is told: how many replicas, who gets a request, when replicas come and go, how long clients wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from bide.errors import BadInput
from bide.i18n import _

RouterName = Literal["round-robin", "random", "least-requests", "least-kv", "prefix", "two-choices"]
ROUTERS: tuple[RouterName, ...] = get_args(RouterName)
BLIND: tuple[RouterName, ...] = ("round-robin", "random")


@dataclass(frozen=True, slots=True)
class At:
    """Something that happens to a replica (counted from 0) at a time of the run, in seconds."""

    replica: int
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRules:
    """Times are seconds. Replicas are there from the beginning unless `starts` names them.

    `start_up_s`: from starting a replica to its first request, also after a failure. A failed replica
    loses its requests, which their clients send again if they retry. Clients give up on a request
    that has no first token after `patience_s`, or no last one after `timeout_s`; a router that finds
    `queue_limit` requests waiting at its choice refuses. After a time-out, a refusal or a failure a
    client sends the request again up to `retries` times, `backoff_s` later, then twice that, and so on.

    With `prefill_replicas` and `decode_replicas` instead of `replicas`, prompts are computed by the
    former and answered by the latter, the cache going from one to the other over a link of
    `link_bytes_per_s` for each GPU, where the catalogue's is not the one. Replicas are numbered
    through, those for prefill first. `users` send the requests in turn, each the next one
    `think_s` after its answer, instead of when the trace says; they begin at `user_starts_s`, one
    time each, or all at once.
    """

    replicas: int = 1
    router: RouterName = "round-robin"
    prefill_replicas: int = 0
    decode_replicas: int = 0
    decode_router: RouterName | None = None
    """As `router` unless given."""
    link_bytes_per_s: float | None = None
    link_latency_s: float | None = None
    users: int | None = None
    think_s: float = 0.0
    user_starts_s: tuple[float, ...] = ()
    starts: tuple[At, ...] = ()
    failures: tuple[At, ...] = ()
    start_up_s: float = 0.0
    patience_s: float | None = None
    timeout_s: float | None = None
    retries: int = 0
    backoff_s: float = 1.0
    queue_limit: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.replicas <= 10_000:
            raise BadInput("replicas", self.replicas, _("1 to 10,000"))
        self._check_split()
        for field, router in (("router", self.router), ("decode_router", self.decode_router or self.router)):
            if router not in ROUTERS:
                raise BadInput(field, router, _("one of {names}").format(names=", ".join(ROUTERS)))
        for field, events in (("start", self.starts), ("fail", self.failures)):
            for event in events:
                if not 0 <= event.replica < self.all_replicas:
                    allowed = _("a replica from 0 to {last}").format(last=self.all_replicas - 1)
                    raise BadInput(field, event.replica, allowed)
        counts = (("retries", self.retries), ("queue_limit", self.queue_limit or 0))
        for field, value in (*counts, ("start_up", self.start_up_s), ("backoff", self.backoff_s)):
            if value < 0:
                raise BadInput(field, value, _("0 or more"))
        for field, limit in (("patience", self.patience_s), ("timeout", self.timeout_s)):
            if limit is not None and limit <= 0:
                raise BadInput(field, limit, _("a time above 0"))
        self._check_users()

    def _check_users(self) -> None:
        if self.users is not None and self.users < 1:
            raise BadInput("concurrency", self.users, _("at least one user"))
        if self.think_s < 0 or (self.think_s > 0 and self.users is None):
            raise BadInput("think_time", self.think_s, _("0 or more, of the users of --concurrency"))
        if self.user_starts_s and len(self.user_starts_s) != self.users:
            allowed = _("a time for each of the users of --concurrency")
            raise BadInput("user_starts", len(self.user_starts_s), allowed)

    def _check_split(self) -> None:
        if not self.split:
            of_both = (self.decode_router, self.link_bytes_per_s, self.link_latency_s)
            for field, given in zip(("decode_router", "link_bandwidth", "link_latency"), of_both, strict=True):
                if given is not None:
                    raise BadInput(field, given, _("only with --prefill-replicas and --decode-replicas"))
            return
        for field, count in (("prefill_replicas", self.prefill_replicas), ("decode_replicas", self.decode_replicas)):
            if not 1 <= count <= 10_000:
                raise BadInput(field, count, _("1 to 10,000, of both kinds"))
        if self.replicas != 1:
            raise BadInput(
                "replicas", self.replicas, _("either --replicas, or --prefill-replicas and --decode-replicas")
            )
        for name, value in (("link_bandwidth", self.link_bytes_per_s), ("link_latency", self.link_latency_s)):
            if value is not None and (value < 0 or (value == 0 and name == "link_bandwidth")):
                raise BadInput(name, value, _("above 0"))

    @property
    def split(self) -> bool:
        """Whether prompts are computed by other replicas than those that answer."""
        return bool(self.prefill_replicas or self.decode_replicas)

    @property
    def all_replicas(self) -> int:
        return self.prefill_replicas + self.decode_replicas if self.split else self.replicas

    def blind(self, engines: int) -> bool:
        """Whether where a request goes depends on nothing that happens, so that `engines` can be run one by one."""
        return not self.split and self._uneventful and (self.router in BLIND or engines == 1)

    @property
    def blind_pools(self) -> bool:
        """The same of both pools of a fleet whose prompts are computed by other replicas than those that answer."""
        return self._uneventful and self.router in BLIND and (self.decode_router or self.router) in BLIND

    @property
    def _uneventful(self) -> bool:
        events = (self.starts, self.failures, self.patience_s, self.timeout_s, self.users)
        return self.queue_limit is None and not any(events)
