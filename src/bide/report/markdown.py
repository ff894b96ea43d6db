"""Markdown that shows text as it is: bullets and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def bullets(lines: Iterable[str]) -> str:
    """A list, a line each."""
    return "\n".join(f"- {plain(line)}" for line in lines)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, its columns to the right."""
    lines = [headers, ["---:"] * len(headers), *([plain(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plain(text: str) -> str:
    """Without what Markdown or HTML would read as markup."""
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text
