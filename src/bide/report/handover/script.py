"""serve.sh: the command of one replica, an option a line."""

from __future__ import annotations

import shlex

from bide.facts.engine_options import command_line, split
from bide.report.handover import comments
from bide.report.handover.unit import Unit


def script(unit: Unit) -> str:
    """A shell script that becomes the engine; arguments that it is given come last."""
    engine = unit.deployment.engine
    launch = command_line(engine.name, engine.version_text).launch
    loose, options = split(unit.command.argv[len(launch) :])
    lines = [" ".join(map(shlex.quote, [*launch, *loose]))]
    lines += [" ".join(map(shlex.quote, [name, *values])) for name, values in options]
    body = " \\\n  ".join(["exec " + lines[0], *lines[1:], '"$@"'])
    return f"#!/bin/sh\n{comments.commented(comments.planned(unit))}{body}\n"
