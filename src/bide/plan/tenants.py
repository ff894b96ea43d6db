"""Several services on one kind of replica: bytes per user, users that fit, GPUs that are needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bide.errors import BadInput, check_keys
from bide.i18n import _
from bide.physics.memory import Memory
from bide.units import parse_tokens

_FORM = "name:tokens:users, such as chat:1500:100"
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
    deployment, fit = memory.deployment, memory.fit(tenant.tokens)
    users = fit.requests * deployment.dp if memory.fits else 0.0
    request_bytes = fit.request_bytes * deployment.replica_gpus // deployment.dp
    if users < 1:
        return Need(tenant, request_bytes, users, math.inf, 0)
    replicas = tenant.users / users
    return Need(tenant, request_bytes, users, replicas, math.ceil(replicas) * deployment.replica_gpus)


def parse_tenant(text: str) -> Tenant:
    """`"chat:1500:100"` -> Tenant("chat", 1500, 100). Raises BadInput for another form."""
    name, _colon, rest = text.strip().partition(":")
    tokens, _colon, users = rest.partition(":")
    if not name or not tokens or not users:
        raise BadInput("service", text, _(_FORM))
    return Tenant(name, parse_tokens(tokens, "service"), _users(users, text))


def _users(value: object, given: object) -> int:
    try:
        users = int(str(value))
    except ValueError:
        users = 0
    if users < 1 or isinstance(value, bool):
        raise BadInput("service", given, _("a whole number of users, 1 or more: {form}").format(form=_FORM))
    return users


def read_tenants(path: Path) -> list[Tenant]:
    """A YAML (or JSON) file: a list of `{name, tokens, users}`, or `{services: [...]}`.

    Raises BadInput naming the entry and key that is wrong.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput("services", str(path), _("a YAML file"), str(error.strerror)) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput("services", str(path), _("a YAML list of services"), str(error).replace("\n", " ")) from error
    rows = content.get("services") if isinstance(content, Mapping) else content
    if not isinstance(rows, list) or not rows:
        raise BadInput("services", str(path), _("a list of services with name, tokens and users"))
    return [_tenant(row, f"services[{number}]") for number, row in enumerate(rows)]


def _tenant(row: object, where: str) -> Tenant:
    if not isinstance(row, Mapping):
        raise BadInput(where, row, _("an object with name, tokens and users"))
    check_keys(row, _KEYS, where)
    for key in _KEYS:
        if row.get(key) is None:
            raise BadInput(f"{where}.{key}", None, _("a value: every service has name, tokens and users"))
    return Tenant(str(row["name"]), parse_tokens(row["tokens"], f"{where}.tokens"), _users(row["users"], row["users"]))


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
