"""The commands that start the replicas of a disaggregated fleet."""

from __future__ import annotations

from collections.abc import Sequence

from bide.facts.deployment import Deployment
from bide.plan.flags import serving
from bide.plan.serving.command import Command
from bide.plan.serving.transfer import Role, with_role

ROLES: tuple[Role, ...] = ("prefill", "decode")


def role_serving(deployment: Deployment, role: Role) -> Command:
    """vLLM's command for a replica that does one of the two stages."""
    return with_role(serving(deployment), role)


def remarks_of(commands: Sequence[Command]) -> tuple[str, ...]:
    """Of all commands, each once."""
    return tuple(dict.fromkeys(remark for command in commands for remark in command.remarks))
