"""Several services on one kind of replica: bytes per user, users that fit, GPUs that are needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bide.errors import BadInput
from bide.i18n import _
from bide.located import Located, read_yaml
from bide.physics.memory import Memory
from bide.units import parse_tokens

_MOST_USERS = 10**9
_USER_DIGITS = 12
_KEYS = ("name", "tokens", "users")


@dataclass(frozen=True, slots=True)
class Tenant:
    """`users` who each hold a context of `tokens`."""

    name: str
    tokens: int
    users: int


@dataclass(frozen=True, slots=True)
class Need:
    """What one service asks of the memory. Bytes and users are of a replica alone with it."""

    tenant: Tenant
    bytes_per_user: int
    """Over all GPUs of the replica that share the request."""
    users_that_fit: float
    replicas: float
    """Replicas that its users fill, as a fraction."""
    gpus: int
    """In whole replicas of its own; 0 where one request does not fit."""


def needs(memory: Memory, tenants: Sequence[Tenant]) -> list[Need]:
    """One Need for each service."""
    return [_need(memory, tenant) for tenant in tenants]


def shared_gpus(memory: Memory, found: Sequence[Need]) -> int | None:
    """GPUs for all services on the same replicas, in whole replicas; None where one of them does not fit."""
    if any(need.gpus == 0 for need in found):
        return None
    return math.ceil(sum(need.replicas for need in found)) * memory.deployment.replica_gpus


def _need(memory: Memory, tenant: Tenant) -> Need:
    deployment = memory.deployment
    users = memory.replica_requests(tenant.tokens).mid
    request_bytes = memory.pool.request_bytes(tenant.tokens) * deployment.replica_gpus // deployment.dp
    if users < 1:
        return Need(tenant, request_bytes, users, math.inf, 0)
    replicas = tenant.users / users
    return Need(tenant, request_bytes, users, replicas, max(1, math.ceil(replicas)) * deployment.replica_gpus)


def parse_tenant(text: str) -> Tenant:
    """`"chat:1500:100"` -> Tenant("chat", 1500, 100). Raises BadInput for another form."""
    name, _colon, rest = text.strip().partition(":")
    tokens, _colon, users = rest.partition(":")
    if not name or not name.isprintable() or not tokens or not users:
        raise BadInput("service", text, _form())
    count = int(users) if users.strip().isdecimal() and len(users) <= _USER_DIGITS else 0
    if not 1 <= count <= _MOST_USERS:
        raise BadInput("service", text, f"{_users()}: {_form()}")
    return Tenant(name, parse_tokens(tokens, "service"), count)


def _form() -> str:
    return _("name:tokens:users, such as chat:1500:100")


def _users() -> str:
    return _("a whole number of users from 1 to {most:,}").format(most=_MOST_USERS)


def read_tenants(path: Path) -> list[Tenant]:
    """A YAML (or JSON) file: a list of `{name, tokens, users}`, or `{services: [...]}`.

    Raises BadInput naming the entry and key that is wrong, with its line.
    """
    root = read_yaml(path, "services", list_path="services")
    rows = root.mapping(("services",), ("services",))["services"] if isinstance(root.value, dict) else root
    return [_tenant(row) for row in rows.items()]


def _tenant(row: Located) -> Tenant:
    keys = row.mapping(_KEYS, _KEYS)
    tokens, users = keys["tokens"], keys["users"].number(_users(), 1, _MOST_USERS, whole=True)
    return Tenant(keys["name"].text(), tokens.at(lambda: parse_tokens(tokens.value, tokens.path)), int(users))


def needs_dict(memory: Memory, found: Sequence[Need]) -> dict[str, object]:
    """The services as plain values; infinite figures are null."""
    rows = [
        {
            "name": need.tenant.name,
            "tokens": need.tenant.tokens,
            "users": need.tenant.users,
            "bytes_per_user": need.bytes_per_user,
            "users_that_fit": need.users_that_fit if math.isfinite(need.users_that_fit) else None,
            "gpus": need.gpus or None,
        }
        for need in found
    ]
    return {"each": rows, "shared_gpus": shared_gpus(memory, found)}
