"""Numbers as people type them into the page: with a decimal point or comma, with or without marks between thousands."""

from __future__ import annotations

import re

from bide.errors import BadInput
from bide.i18n import _, number_marks

_LEADING = re.compile(r"[-+]?[\d.,][\d.,'’\s]*")
_SPACED = re.compile(r"(?<=\d)['’\s](?=\d{3}(?!\d))")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}")
"""What stands before the first three digits of a number in groups."""


def plain_number(field: str, text: str, *, whole: bool = False) -> str:
    """The text with the number that it begins with as Python reads it; what is none is left for others to refuse.

    Where a mark appears twice, or before another one, it parts thousands. One mark with other than three digits behind
    it is a decimal point or comma. One with three parts thousands where the number is `whole`; otherwise a point is a
    decimal point, for the page itself writes so, and a comma is what it is in the visitor's language. `1.500` is
    refused where points part thousands: it may be either.

    >>> plain_number("rate", "1,5"), plain_number("rate", "1 234,5 s"), plain_number("tokens", "13.000", whole=True)
    ('1.5', '1234.5 s', '13000')
    """
    given = text.strip()
    match = _LEADING.match(given)
    if match is None:
        return given
    number = match[0].rstrip()
    rest = given[len(number) :]
    number = _SPACED.sub("", number)
    marks = [mark for mark in number if mark in ".,"]
    if len(marks) == 1:
        return _of_one_mark(field, number, marks[0], whole and not rest.strip()) + rest  # 1.500k is no whole number
    return (_of_groups(number, marks) if marks else number) + rest


def _of_one_mark(field: str, number: str, mark: str, whole: bool) -> str:
    before, _mark, behind = number.partition(mark)
    if len(behind) != 3 or not _THOUSANDS.fullmatch(before):
        return f"{before}.{behind}"
    if whole:
        return before + behind
    marks = number_marks()
    if mark == ",":
        return f"{before}.{behind}" if marks.get(".") == "," else before + behind
    if marks.get(",") == "." and behind.endswith("0"):  # the page itself would not write the last nought
        hint = _("{one} or {other}?").format(one=before + behind, other=f"{before},{behind.rstrip('0') or '0'}")
        raise BadInput(field, number, _("a number that can be read in one way"), hint)
    return number


def _of_groups(number: str, marks: list[str]) -> str:
    """`1,234,567` or `1.234,5`; as it is where the groups are not of three."""
    first, last = marks[0], marks[-1]
    head, fraction = (number, "") if first == last else number.rsplit(last, 1)
    groups = head.split(first)
    if not _THOUSANDS.fullmatch(groups[0]) or not all(re.fullmatch(r"\d{3}", group) for group in groups[1:]):
        return number
    return "".join(groups) + (f".{fraction}" if fraction else "")
