"""The command-line options that an engine documents, by release, and the check of a command against them.

The options are `data/options/<engine>.json`, read from published wheels by `tools/read_engine_options.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from bide.errors import nearest
from bide.facts.catalogue import table
from bide.facts.engines import parse_version
from bide.i18n import _
from bide.sourced import Source

Kind = Literal["switch", "bool", "optional", "int", "tokens", "float", "text", "json", "list"]
"""What follows an option. `switch`: nothing. `bool`: perhaps true or false. `optional`: perhaps a value.
`tokens`: a whole number, also as 8k. `list`: one value or more."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option at a release."""

    kind: Kind
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandLine:
    """How an engine is started at a release, and the options that it documents there."""

    engine: str
    release: str
    """The release that was read: the newest that is not newer than the one asked for, or the oldest."""
    launch: tuple[str, ...]
    positional: bool
    """The model stands without an option's name."""
    underscores: bool
    """`_` may stand for `-` in names."""
    required: tuple[str, ...]
    options: Mapping[str, Option]
    source: Source

    def has(self, name: str) -> bool:
        """Whether the option exists."""
        return name in self.options

    def takes(self, name: str, value: str) -> bool:
        """Whether the option exists and documents this value (or any)."""
        option = self.options.get(name)
        return option is not None and (not option.choices or value in option.choices)


@lru_cache(maxsize=64)
def command_line(engine: str, version_text: str) -> CommandLine:
    """The options of `engine` ("vllm", "sglang" or "trtllm") at a version. Raises BadInput for what is no version."""
    facts = table(f"options/{engine}.json")
    releases: list[str] = facts["read"]
    asked = parse_version(version_text)
    index = max([i for i, release in enumerate(releases) if parse_version(release) <= asked], default=0)
    options = {
        name: Option(span["kind"], tuple(span.get("choices", ())))
        for name, spans in facts["options"].items()
        for span in spans
        if releases.index(span["since"]) <= index <= releases.index(span.get("until", releases[-1]))
    }
    return CommandLine(
        engine,
        releases[index],
        tuple(facts["launch"]),
        facts["positional"],
        facts["underscores"],
        tuple(facts["required"]),
        options,
        Source(facts["source"], facts["checked"], "config"),
    )


def check_command(engine: str, version_text: str, argv: Sequence[str]) -> list[str]:
    """What is wrong with a command that starts an engine, a sentence each; empty where nothing is.

    An option that the release does not document, a value that it does not document for the option, a missing
    value, an option given twice, or no model. Values are not weighed against each other or the hardware.
    """
    line = command_line(engine, version_text)
    count = len(line.launch)
    if tuple(argv[:count]) != line.launch:
        return [_("the command does not start with {launch}").format(launch=" ".join(line.launch))]
    return [*_problems(line, argv[count:])]


def _problems(line: CommandLine, rest: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    loose, options = split(rest)
    if len(loose) != line.positional:
        yield _("{given} values without an option; expected: {expected}").format(
            given=len(loose), expected=_("the model") if line.positional else _("none")
        )
    for given, values in options:
        name = _spelt(line, given)
        if name in seen and "." not in given:
            yield _("{name} is given twice").format(name=given)
        seen.add(name)
        problem = _problem(line, name, given, values)
        if problem:
            yield problem
    for name in line.required:
        if name not in seen:
            yield _("{name} is missing").format(name=name)


def split(rest: Sequence[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The values before any option, and each option with the values that follow it (`--name=value` too)."""
    loose: list[str] = []
    options: list[tuple[str, list[str]]] = []
    for word in rest:
        if word.startswith("-") and not _is_number(word):
            name, equals, value = word.partition("=")
            options.append((name, [value] if equals else []))
        elif options:
            options[-1][1].append(word)
        else:
            loose.append(word)
    return loose, options


def _spelt(line: CommandLine, given: str) -> str:
    """The option's name as the engine's parser takes it: with dashes, and without the key of a JSON option."""
    name = given.replace("_", "-") if line.underscores and given.startswith("--") else given
    whole = name.partition(".")[0]
    inner = line.options.get(whole)
    return whole if inner is not None and inner.kind == "json" else name


def _problem(line: CommandLine, name: str, given: str, values: list[str]) -> str | None:
    """None where `values` are what the option takes."""
    option = line.options.get(name)
    if option is None:
        near = nearest(name, line.options, 1)
        hint = " " + _("(did you mean {name}?)").format(name=near[0]) if near else ""
        return (
            _("{engine} {release} has no option {name}").format(engine=line.engine, release=line.release, name=given)
            + hint
        )
    fewest, most = _counts(option.kind)
    if not fewest <= len(values) <= most:
        return _("{name} takes {expected}, {count} given").format(
            name=given, expected=_expected(option.kind), count=len(values)
        )
    if "." in given:  # a key of a JSON option: its value may be anything
        return None
    wrong = next((value for value in values if not _fits(option, value)), None)
    if wrong is None:
        return None
    if option.choices:
        return _("{name} documents no value {value}; it has {choices}").format(
            name=given, value=wrong, choices=", ".join(option.choices)
        )
    return _("{name} takes {expected}, got {value}").format(name=given, expected=_expected(option.kind), value=wrong)


_MANY = 10**6


def _counts(kind: Kind) -> tuple[int, int]:
    """How many values follow an option of this kind."""
    if kind == "switch":
        return 0, 0
    if kind in ("bool", "optional"):
        return 0, 1
    return (1, _MANY) if kind == "list" else (1, 1)


def _expected(kind: Kind) -> str:
    words = {
        "switch": _("no value"),
        "bool": _("true or false, or no value"),
        "optional": _("one value or none"),
        "int": _("a whole number"),
        "tokens": _("a number of tokens"),
        "float": _("a number"),
        "text": _("a value"),
        "json": _("a JSON object"),
        "list": _("one value or more"),
    }
    return words[kind]


def _fits(option: Option, value: str) -> bool:
    if option.choices:
        return value in option.choices
    if option.kind == "int":
        return value.lstrip("-").isdecimal()
    if option.kind == "tokens":
        return value == "auto" or value.rstrip("kKmMgGtT").lstrip("-").replace(".", "", 1).isdecimal()
    if option.kind == "float":
        return _is_number(value)
    if option.kind == "bool":
        return value.lower() in ("true", "false")
    return option.kind != "json" or _is_json(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_json(text: str) -> bool:
    try:
        found: Any = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, dict | list)
