"""README and the pages of docs/: their links lead somewhere, their commands have the flags and files that they show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from bide.cli.main import EXAMPLES, group
from bide.cli.plan_diff import command as plan_diff
from bide.cli.workload import EXAMPLES as OF_WORKLOADS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings of a page: lower case, no punctuation, `-` for blanks."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for found in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        address = "".join(found)
        if address.startswith(("http://", "https://")):
            continue
        path, _hash, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), address
        if anchor:
            assert anchor in anchors(target), address


def commands(page: Path) -> Iterator[list[str]]:
    """The words behind `bide` of each command in a page's blocks of code, comments left out."""
    for block in FENCE.findall(page.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            plain = re.split(r"(?:^|\s)# ", line)[0].removeprefix("$ ")
            if found := re.match(r"(?:for .*; do |[A-Z_]+=\S*\(?.*?\)? )?bide (.*)", plain):
                yield shlex.split(found[1].split(";")[0])


CASES = [
    pytest.param(words, id=f"{name_of(page)}: {' '.join(words)}"[:100]) for page in PAGES for words in commands(page)
]
CASES += [pytest.param(shlex.split(line)[1:], id=line) for line in (*EXAMPLES.values(), *OF_WORKLOADS.values())]


def command_of(words: list[str]) -> click.Command:
    """The command that the words begin with."""
    if words[:2] == ["plan", "diff"]:
        return plan_diff
    found: click.Command = group()
    for word in words:
        inner = found.get_command(click.Context(found), word) if isinstance(found, click.Group) else None
        if inner is None:
            break
        found = inner
    return found


@pytest.mark.parametrize("words", CASES)
def test_every_flag_that_is_shown_is_one_of_the_command(words: list[str]) -> None:
    words = [words[2], *words[:2], *words[3:]] if words[:1] == ["--lang"] else words
    known = {name for param in command_of(words).params for name in (*param.opts, *param.secondary_opts)}
    shown = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    assert shown <= known | {"--lang", "--help", "-h", "--version"}, shown - known


@pytest.mark.parametrize("words", CASES)
def test_every_file_of_the_examples_is_there(words: list[str]) -> None:
    for word in words:
        if word.startswith("examples/"):
            assert (ROOT / word).exists(), word
