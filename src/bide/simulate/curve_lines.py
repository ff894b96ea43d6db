"""The lines of `bide curve --batch`: what each asks, checked, and its answer, many at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from bide.errors import BadInput, BideError, check_keys, is_id
from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.simulate.curve_dict import point_dict
from bide.simulate.operating import Load, LoadKind, Mix, Point
from bide.simulate.step_tables import Steps
from bide.units import likely_number, parse_tokens

_LOADS: tuple[LoadKind, ...] = ("concurrency", "requests_per_s", "batch")
_LINE_KEYS = frozenset({"id", "deployment", "prompt_tokens", "output_tokens", *_LOADS})
_MOST_TOKENS = 1e9
_LEAST_RATE, _MOST_LOAD = 1e-9, 1e9
_MOST_DEPLOYMENTS = 4096
"""That are kept between the lines of a batch."""

Asked = tuple[Deployment, Mix, Load]


def checked_tokens(value: object, field: str) -> float:
    """A mean length, at least 1 and not always whole: `1000`, `239.6`, `"8k"`. Raises BadInput naming `field`."""
    number = _number(value)
    if number is None and isinstance(value, str):
        number = _with_unit(value, field)
    if number is None or not 1 <= number <= _MOST_TOKENS:
        allowed = _("tokens of a mean request, from 1 to {most:,.0f}, such as 1000, 239.6 or 8k")
        raise BadInput(field, value, allowed.format(most=_MOST_TOKENS), likely_number(str(value)))
    return number


def _with_unit(text: str, field: str) -> float | None:
    try:
        return float(parse_tokens(text, field))
    except BadInput:
        return None


def checked_load(kind: LoadKind, value: object, field: str) -> Load:
    """A load: at least 1 client or request in the batch, or one request in 30 years. Raises BadInput naming `field`."""
    number, least = _number(value), _LEAST_RATE if kind == "requests_per_s" else 1.0
    if number is None or not least <= number <= _MOST_LOAD:
        allowed = _("a number from {low:g} to {high:,.10g}").format(low=least, high=_MOST_LOAD)
        if kind == "requests_per_s" and not 0 < (number or 0) < least:  # 1e-320 is above 0 too
            allowed = _("a number above 0, at most {high:,.10g}").format(high=_MOST_LOAD)
        raise BadInput(field, value, allowed)
    return Load(kind, number)


def _number(value: object) -> float | None:
    """A finite number, also as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


class CurveLines:
    """Answers the lines of a batch, many at once; keeps the deployments that it has resolved.

    A line: `{"id", "deployment": {...}, "prompt_tokens", "output_tokens"}` and one of `concurrency`,
    `requests_per_s` and `batch` (that many requests sent at once).
    """

    def __init__(self, profile: Path | None = None, steps: Steps = "roofline") -> None:
        self._profile, self._steps = profile, steps
        self._resolved: dict[str, Deployment | BideError] = {}

    def __call__(self, lines: Sequence[object]) -> list[dict[str, object]]:
        """An answer for each line: for a bad one `{"id", "error": {"field", "message"}}`, never an exception.

        Raises BadInput only for a profile that cannot be used.
        """
        read = [self._read(line) for line in lines]
        asked = [item for item in read if not isinstance(item, BideError)]
        found = iter(_points(asked, self._profile, self._steps) if asked else ())
        pairs = zip(lines, read, strict=True)
        return [_answer(line, item if isinstance(item, BideError) else next(found)) for line, item in pairs]

    def _read(self, line: object) -> Asked | BideError:
        try:
            return self._asked(line)
        except BideError as error:
            return error

    def _asked(self, line: object) -> Asked:
        if not isinstance(line, Mapping):
            raise BadInput("line", line, _("a JSON object with a deployment"))
        if not is_id(line.get("id")):
            raise BadInput("id", line["id"], _("a text, a finite number or null"))
        if not line.keys() <= _LINE_KEYS:
            check_keys(line, _LINE_KEYS, "")
        deployment = self._deployment(line.get("deployment"))
        prompt = checked_tokens(line.get("prompt_tokens"), "prompt_tokens")
        output = checked_tokens(line.get("output_tokens"), "output_tokens")
        return deployment, Mix(prompt, output), _load(line)

    def _deployment(self, raw: object) -> Deployment:
        """`raw` resolved, from memory where its text was seen before."""
        if not isinstance(raw, Mapping):
            raise BadInput("deployment", raw, _("an object with the deployment's keys"))
        text = repr(raw)
        found = self._resolved.get(text)
        if found is None:
            if len(self._resolved) >= _MOST_DEPLOYMENTS:
                self._resolved.clear()
            found = self._resolved[text] = _resolved(raw)
        if isinstance(found, BideError):
            raise found.with_traceback(None)
        return found


def _resolved(raw: Mapping[str, object]) -> Deployment | BideError:
    """The deployment, or why there is none that could answer: also where it does not fit."""
    from bide.simulate.cases import case_of

    try:
        deployment = Deployment.resolve(raw)
        if deployment.gpu is None:
            raise BadInput("gpu", None, _("a GPU of the catalogue (`bide gpus`): without one there are no step times"))
        case_of(deployment, all(assumption.name != "engine_version" for assumption in deployment.assumptions))
    except BideError as error:
        return error
    return deployment


def _load(line: Mapping[str, object]) -> Load:
    given = [kind for kind in _LOADS if line.get(kind) is not None]
    if len(given) != 1:
        allowed = _("exactly one of {names}").format(names=", ".join(_LOADS))
        raise BadInput(given[1] if given else _LOADS[0], line[given[1]] if given else None, allowed)
    return checked_load(given[0], line[given[0]], given[0])


def _points(asked: Sequence[Asked], profile: Path | None, steps: Steps) -> list[Point | BideError]:
    """A point for each, all at once; where one cannot be answered, halves are tried until it stands alone."""
    from bide.simulate.curve import points

    try:
        return list[Point | BideError](points(asked, profile, records=True, steps=steps))
    except BideError as error:
        if isinstance(error, BadInput) and error.field == "profile":
            raise
        if len(asked) == 1:
            return [error]
    middle = len(asked) // 2
    return _points(asked[:middle], profile, steps) + _points(asked[middle:], profile, steps)


def _answer(line: object, found: Point | BideError) -> dict[str, object]:
    given = line.get("id") if isinstance(line, Mapping) else None
    named: dict[str, object] = {"id": given if is_id(given) else None}
    if isinstance(found, Point):
        return named | point_dict(found)
    if isinstance(found, BadInput):
        return named | {"error": found.to_dict()}
    return named | {"error": {"field": "deployment", "message": str(found)}}
