"""What pydantic finds wrong with a body, as one error of ours: at which place of the body, and what may stand there.

Where a value may be one of several shapes, pydantic tells what is wrong with it as each of them, and names the shape in
the place. Here the shape that was meant is the one whose keys are there; where none is, all are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from pydantic import ValidationError

_ELSEWHERE = ("query", "path", "header", "cookie")
_UNION = "bide_union"
_MOST = 300
"""Errors that are looked at: a body can have a hundred thousand."""
Error = Mapping[str, Any]
Place = tuple[int | str, ...]


def from_shape(error: ValidationError, body: object) -> BadInput:
    """The first thing that pydantic found wrong with `body`."""
    return first_fault(error.errors(include_url=False), body)


def first_fault(errors: Sequence[Error], body: object) -> BadInput:
    """An error of pydantic as one of ours. An unknown key is often a typing error: it comes first."""
    if errors[0]["loc"][:1] and errors[0]["loc"][0] in _ELSEWHERE:
        return _fault({**errors[0], "loc": errors[0]["loc"][1:]})
    meant = _meant([_in_body(each) for each in errors[:_MOST]], body)
    return _fault(next((each for each in meant if each["type"] == "extra_forbidden"), meant[0]))


def _in_body(error: Error) -> Error:
    """With its place counted from the body, as FastAPI does not."""
    return {**error, "loc": error["loc"][1:]} if error["loc"][:1] == ("body",) else error


def _fault(error: Error) -> BadInput:
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"]).lstrip(".") or "body"
    if error["type"] == "extra_forbidden":
        return BadInput(field, str(error["loc"][-1]), _("a key that is documented (/api/v1/openapi.json)"))
    return BadInput(field, None if error["type"] == "missing" else error.get("input"), _allowed(error))


def _meant(errors: Sequence[Error], body: object) -> list[Error]:
    """Errors of the shapes that were meant, at their places in the body."""
    while found := next(filter(None, (_union_of(each, body) for each in errors)), None):
        within = [each for each in errors if _is_within(each["loc"], found)]
        at = errors.index(within[0])
        others = [each for each in errors if not _is_within(each["loc"], found)]
        errors = [*others[:at], *_of_union(within, found, body), *others[at:]]
    return list(errors)


def _union_of(error: Error, body: object) -> Place | None:
    """Where the first shape is named in its place: the place of the value that may have several."""
    place: Place = error["loc"]
    last = len(place) - 1 if error["type"] == "missing" else None  # a key that is not there is no name of a shape
    value: object = body
    for number, part in enumerate(place):
        if isinstance(value, Mapping) and (part in value or number == last):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return place[:number]
    return None


def _is_within(place: Place, union: Place) -> bool:
    return place[: len(union)] == union and len(place) > len(union)


def _of_union(errors: list[Error], union: Place, body: object) -> list[Error]:
    """Those of the first shape whose needed keys are there; else one that names all shapes."""
    depth = len(union)
    shapes = dict.fromkeys(each["loc"][depth] for each in errors)
    for shape in shapes:
        own = [each for each in errors if each["loc"][depth] == shape]
        if not any(len(each["loc"]) == depth + 1 or each["type"] == "missing" for each in own):
            return [{**each, "loc": (*union, *each["loc"][depth + 1 :])} for each in own]
    forms = dict.fromkeys(_form(next(each for each in errors if each["loc"][depth] == shape)) for shape in shapes)
    if _("a number") in forms:
        forms.pop(_("a whole number"), None)
    return [{"type": _UNION, "loc": union, "input": _at(union, body), "msg": ", ".join(forms)}]


def _form(error: Error) -> str:
    """A shape, by the first thing that the value lacks to have it."""
    return f'{{"{error["loc"][-1]}": ...}}' if error["type"] == "missing" else _allowed(error)


def _at(place: Place, body: Any) -> object:
    for part in place:
        body = body[part]
    return body


def _allowed(error: Error) -> str:
    """In words, in the language of the caller; in pydantic's own where that is rare."""
    told = _WORDS.get(error["type"])
    return str(error["msg"]) if told is None else told(error.get("ctx") or {})


def _object(_ctx: Mapping[str, Any]) -> str:
    return _("an object with keys")


_WORDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "missing": lambda _ctx: _("this key is needed"),
    "int_type": lambda _ctx: _("a whole number"),
    "int_from_float": lambda _ctx: _("a whole number"),
    "float_type": lambda _ctx: _("a number"),
    "finite_number": lambda _ctx: _("a number"),
    "bool_type": lambda _ctx: _("true or false"),
    "string_type": lambda _ctx: _("text"),
    "list_type": lambda _ctx: _("a list"),
    "dict_type": _object,
    "model_type": _object,
    "model_attributes_type": _object,
    "literal_error": lambda ctx: _("one of {names}").format(names=", ".join(_quoted(ctx["expected"]))),
    "greater_than_equal": lambda ctx: _("at least {n:,}").format(n=ctx["ge"]),
    "less_than_equal": lambda ctx: _("at most {n:,}").format(n=ctx["le"]),
    "string_too_short": lambda _ctx: _("text that is not empty"),
    "string_too_long": lambda ctx: _("text of at most {n:,} characters").format(n=ctx["max_length"]),
    "string_pattern_mismatch": lambda _ctx: _("an id as the server gave it: 22 letters, digits, - and _"),
    "too_short": lambda _ctx: _("a list that is not empty"),
    "too_long": lambda ctx: _("a list of at most {n:,}").format(n=ctx["max_length"]),
}
"""By pydantic's type of error. Every shape that has a least length has 1."""


def _quoted(text: str) -> Iterator[str]:
    """The names in `'a', 'b' or 'c'`."""
    return (found[1] for found in re.finditer(r"'([^']*)'", text))
