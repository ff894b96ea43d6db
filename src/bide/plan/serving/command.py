"""A command as it grows, checked option by option against what the engine's release documents."""

from __future__ import annotations

from dataclasses import dataclass, field

from bide.facts.deployment import Deployment
from bide.facts.engine_options import CommandLine, command_line
from bide.i18n import _


@dataclass(frozen=True, slots=True)
class Command:
    """Words of a command line, and what of the deployment they cannot say."""

    argv: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    """Sentences: what must be done besides, or differs from what was planned."""


@dataclass(slots=True)
class Draft:
    """A Command being written."""

    line: CommandLine
    words: list[str]
    remarks: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, deployment: Deployment) -> Draft:
        """The engine's launcher at the deployment's version, without options."""
        line = command_line(deployment.engine.name, deployment.engine.version_text)
        return cls(line, [*line.launch])

    def give(self, name: str, value: object = None, instead: str = "") -> None:
        """Add an option that the release documents; else remark on it, with what to do `instead`."""
        text = () if value is None else (str(value),)
        if self.line.has(name) and all(self.line.takes(name, word) for word in text):
            self.words += [name, *text]
            return
        wanted = " ".join((name, *text))
        why = _("{engine} {release} documents no {option}.").format(
            engine=self.line.engine, release=self.line.release, option=wanted
        )
        self.remarks.append(f"{why} {instead}".strip())

    def first(self, names: tuple[str, ...], value: object = None, instead: str = "") -> None:
        """Add the first of several spellings that the release documents."""
        known = [name for name in names if self.line.has(name)]
        self.give((known or names)[0], value, instead)

    def done(self) -> Command:
        return Command(tuple(self.words), tuple(self.remarks))
