"""A command's options without those that a chart writes from fields of its own."""

from __future__ import annotations

from collections.abc import Collection

from bide.facts.engine_options import command_line, split
from bide.report.handover.unit import Unit


def options(unit: Unit) -> list[tuple[str, list[str]]]:
    """Every option of the unit's command with its values."""
    engine = unit.deployment.engine
    launch = command_line(engine.name, engine.version_text).launch
    return split(unit.command.argv[len(launch) :])[1]


def other_arguments(unit: Unit, fields: Collection[str]) -> list[str]:
    """The words of all options but `fields`."""
    return [word for name, values in options(unit) if name not in fields for word in (name, *values)]
