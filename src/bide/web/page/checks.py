"""What a control may hold: each check gives the text as it is kept, or raises BadInput."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from bide.errors import BadInput, UnknownName
from bide.i18n import _
from bide.units import parse_tokens
from bide.web.page.typed import plain_number

Check = Callable[[str], str]


def one_of(name: str, values: Collection[str]) -> Check:
    """One of a few words."""

    def check(text: str) -> str:
        if text not in values:
            raise UnknownName(name, text, values, _("one of {names}").format(names=", ".join(filter(None, values))))
        return text

    return check


def some_of(name: str, values: Collection[str]) -> Check:
    """Several of a few words, each once, with commas between them."""
    one = one_of(name, values)
    return lambda text: ",".join(dict.fromkeys(one(part.strip()) for part in text.split(",") if part.strip()))


def tokens(name: str) -> Check:
    """`8k`, `13,000`: the number of tokens in plain digits."""
    return lambda text: str(parse_tokens(plain_number(name, text, whole=True), name))


def whole(name: str, low: int, high: int) -> Check:
    """A whole number."""

    def check(text: str) -> str:
        value = plain_number(name, text, whole=True)
        if not (value.isascii() and value.isdigit() and len(value) < 12 and low <= int(value) <= high):
            raise BadInput(name, text, _("a whole number from {low:,} to {high:,}").format(low=low, high=high))
        return str(int(value))

    return check


def number(name: str, low: float, high: float) -> Check:
    """A number, as short as it can be written."""

    def check(text: str) -> str:
        value = float_of(name, text)
        if not low <= value <= high:
            raise BadInput(name, text, _("a number from {low:g} to {high:,.10g}").format(low=low, high=high))
        return f"{value:.10g}"

    return check


def float_of(name: str, text: str) -> float:
    """The number that was typed; NaN, which is in no range, for what is none."""
    try:
        return float(plain_number(name, text))
    except ValueError:
        return math.nan


def gpu(name: str) -> Check:
    """A GPU of the catalogue, by its id."""

    def check(text: str) -> str:
        from bide.facts.gpus import UNLISTED, find_gpu

        found = find_gpu(text.strip(), name)
        if found.id == UNLISTED:
            raise BadInput(name, text, _("a GPU of the catalogue (`bide gpus`)"))
        return found.id

    return check


def gpus(name: str, most: int) -> Check:
    """Several GPUs, each once, with commas between them."""
    one = gpu(name)

    def check(text: str) -> str:
        found = list(dict.fromkeys(one(part) for part in text.split(",") if part.strip()))
        if not 1 <= len(found) <= most:
            raise BadInput(name, text, _("from 1 to {most} GPUs").format(most=most))
        return ",".join(found)

    return check
