"""JSON from outside: a bounded depth, finite numbers, text that can be written again."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from bide.errors import BadInput
from bide.i18n import _

DEEPEST = 32
MOST_KEYS = 3000
"""Of a body, outside of files that stand in it: each that is wrong is an error to be made, some 30 us."""
_FILES = ("config", "quantization")
_LARGEST = 10**18
"""Beyond, whole numbers are no counts of anything, and not exact in other languages' JSON."""


def read_json(data: bytes, field: str = "body") -> Any:
    """The value that `data` is the JSON of.

    Raises BadInput for what is no JSON, for NaN and infinities, for numbers beyond 10^18, for more than 32 levels, and
    for text with half of a surrogate pair, which no JSON can give back.
    """
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        why = _("nested too deep") if isinstance(error, RecursionError) else str(error)[:200]
        raise BadInput(field, None, _("one JSON value in UTF-8"), why) from None
    _check(value, field)
    return value


def check_keys(body: Any) -> None:
    """Raises BadInput for a body with more keys than a question has; a config.json that stands in it may have more."""
    count, level = 0, [body]
    while level and count <= MOST_KEYS:
        objects = [each for each in level if isinstance(each, dict)]
        count += sum(map(len, objects))
        inner = [value for each in objects for key, value in each.items() if key not in _FILES]
        level = [*inner, *(item for each in level if isinstance(each, list) for item in each)]
    if count > MOST_KEYS:
        raise BadInput("body", None, _("at most {n:,} keys beside a config.json").format(n=MOST_KEYS))


def _no_number(name: str) -> NoReturn:
    raise ValueError(_("{name} is no number of JSON").format(name=name))


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(_("{number} is too large").format(number=text[:40]))
    return number


def _check(value: Any, field: str) -> None:
    """Level by level: no recursion, whatever comes."""
    level = [value]
    for _depth in range(DEEPEST):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += each.keys()
                inner += each.values()
            elif isinstance(each, list):
                inner += each
            else:
                _check_leaf(each, field)
        if not inner:
            return
        level = inner
    raise BadInput(field, None, _("at most {n} levels of lists and objects").format(n=DEEPEST))


def _check_leaf(value: object, field: str) -> None:
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise BadInput(field, None, _("text in Unicode"), _("there is half of a surrogate pair")) from None
    elif isinstance(value, int) and abs(value) > _LARGEST:
        raise BadInput(field, _("a number of {n} digits").format(n=len(str(value))), _("numbers up to 10^18"))
