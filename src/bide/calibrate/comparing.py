"""`bide.compare`: two results, or a result and a prediction, figure by figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bide.bench.formats.values import Run
from bide.calibrate.sides import Side, Value, measured_side, predicted_sides, sides_of
from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.i18n import _, numeral

Verdict = Literal["same", "beyond", "unknown", "given"]
"""`same`: the intervals meet. `beyond`: they do not. `unknown`: neither side has one, or a figure
is of too few requests. `given`: the client set it."""
METRICS = ("ttft", "tpot", "itl", "e2e", "requests_per_s", "output_tokens_per_s")
_SAME_LEVEL = 0.03
_OTHER_LENGTHS = 0.1
_RATES = ("requests_per_s", "output_tokens_per_s")
_BEHIND = 0.05
"""A server that answers so much less than it is sent cannot keep up: what it does answer is its own."""
_CHANCE = 2.0
"""Standard deviations, each one over the root of the number of requests, by which few may fall short by chance."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of both sides. `percent` None: the mean (of rates: over the run)."""

    metric: str
    percent: float | None
    a: Value
    b: Value
    given: bool = False
    """Whether it is what the clients sent, and no outcome."""

    @property
    def ratio(self) -> float | None:
        """B over A."""
        return self.b.value / self.a.value if self.a.value else None

    @property
    def ratio_ends(self) -> tuple[float, float] | None:
        """From B's low end over A's high one to the reverse; a side without an interval counts as exact."""
        (a_low, a_high), (b_low, b_high) = _ends(self.a), _ends(self.b)
        if self.verdict in ("unknown", "given") or a_low <= 0 or a_high <= 0:
            return None
        return b_low / a_high, b_high / a_low

    @property
    def verdict(self) -> Verdict:
        if self.given:
            return "given"
        if (self.a.low is None and self.b.low is None) or self.a.few or self.b.few:
            return "unknown"
        (a_low, a_high), (b_low, b_high) = _ends(self.a), _ends(self.b)
        return "same" if a_low <= b_high and b_low <= a_high else "beyond"


def _ends(value: Value) -> tuple[float, float]:
    low = value.value if value.low is None else value.low
    high = value.value if value.high is None else value.high
    return low, high


@dataclass(frozen=True, slots=True)
class Pair:
    """Two levels of load that belong together."""

    a: Side
    b: Side
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs; `alone` are levels of one side that the other has not."""

    pairs: tuple[Pair, ...]
    alone: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for pair in self.pairs for row in pair.rows)

    def to_dict(self) -> dict[str, Any]:
        return {"pairs": [_pair_dict(pair) for pair in self.pairs], "alone": list(self.alone)}


def compare(
    a: Path | str | Run | Sequence[Run],
    b: Path | str | Run | Sequence[Run] | Deployment,
    *,
    profile: Path | None = None,
) -> Comparison:
    """Lay `b` beside `a`: files of any known client, curves or simulations in JSON, runs, or a deployment to predict.

    Raises BadInput for what cannot be read, and where nothing of the two goes together.
    """
    first = _sides(a, "a")
    if isinstance(b, Deployment):
        return Comparison(
            tuple(_pair(one, two) for one, two in zip(first, predicted_sides(first, b, profile), strict=True))
        )
    second = _sides(b, "b")
    pairs, alone = _matched(first, second)
    if not pairs:
        hint = _("loads: {a} and {b}").format(a=_loads(first), b=_loads(second))
        raise BadInput("b", second[0].name, _("a result with a load that the other has too"), hint)
    return Comparison(tuple(pairs), tuple(alone))


def _sides(given: Path | str | Run | Sequence[Run], field: str) -> list[Side]:
    if isinstance(given, Run):
        return [measured_side(given)]
    if isinstance(given, Path | str):
        return sides_of(Path(given), field)
    return [measured_side(run) for run in given]


def _loads(sides: Sequence[Side]) -> str:
    return ", ".join(_load(side) for side in sides[:8])


def _load(side: Side) -> str:
    level = "?" if side.level is None else numeral(side.level, "g")
    words = {"concurrency": "c={value}", "requests_per_s": _("{value} requests/s"), "batch": _("batch {value}")}
    return words.get(side.kind, "?").format(value=level)


def _matched(first: Sequence[Side], second: Sequence[Side]) -> tuple[list[Pair], list[str]]:
    """By load; two single levels always go together, whatever they say."""
    if len(first) == len(second) == 1:
        return [_pair(first[0], second[0])], []
    left, pairs, alone = list(second), [], []
    for one in first:
        found = next((two for two in left if _same_load(one, two)), None)
        if found is None:
            alone.append(_with_load(one))
            continue
        left.remove(found)
        pairs.append(_pair(one, found))
    return pairs, [*alone, *(_with_load(two) for two in left)]


def _with_load(side: Side) -> str:
    """A measured side's name says its load already."""
    return side.name if side.what == "measured" else f"{side.name}: {_load(side)}"


def _same_load(one: Side, two: Side) -> bool:
    if one.kind != two.kind or not one.level or not two.level:
        return False
    lengths = ((one.prompt_tokens, two.prompt_tokens), (one.output_tokens, two.output_tokens))
    alike = all(not x or not y or abs(x / y - 1) <= _OTHER_LENGTHS for x, y in lengths)
    return alike and abs(one.level / two.level - 1) <= _SAME_LEVEL


def _pair(a: Side, b: Side) -> Pair:
    given = _RATES if _keeps_up(a) and _keeps_up(b) else ()
    rows = tuple(
        Row(metric, percent, a.figures[(metric, percent)], b.figures[(metric, percent)], metric in given)
        for metric in METRICS
        for percent in _percents(a, metric)
        if (metric, percent) in b.figures
    )
    return Pair(a, b, rows, tuple(_notes(a, b)))


def _keeps_up(side: Side) -> bool:
    """Whether as many requests were answered as were sent in an open loop: then all rates are the clients' choice."""
    answered = side.figures.get(("requests_per_s", None))
    if side.kind != "requests_per_s" or not side.level or answered is None:
        return False
    few = _CHANCE / math.sqrt(side.run.completed) if side.run is not None and side.run.completed else 0.0
    return answered.value >= side.level * (1 - max(_BEHIND, few))


def _percents(side: Side, metric: str) -> list[float | None]:
    """The mean first, then rising."""
    found = [percent for name, percent in side.figures if name == metric]
    return sorted(found, key=lambda percent: -1.0 if percent is None else percent)


def _notes(a: Side, b: Side) -> Iterator[str]:
    if a.kind != b.kind or (a.level and b.level and abs(a.level / b.level - 1) > _SAME_LEVEL):
        yield _("the loads differ: {a} and {b}").format(a=_load(a), b=_load(b))
    for name, x, y in (
        (_("prompts"), a.prompt_tokens, b.prompt_tokens),
        (_("answers"), a.output_tokens, b.output_tokens),
    ):
        if x and y and abs(x / y - 1) > _OTHER_LENGTHS:
            yield _("{what} differ in length: {a:.0f} and {b:.0f} tokens").format(what=name, a=x, b=y)
    for side in (a, b):
        yield from (f"{side.name}: {doubt}" for doubt in side.doubts)


def _pair_dict(pair: Pair) -> dict[str, Any]:
    return {
        "a": _side_dict(pair.a),
        "b": _side_dict(pair.b),
        "rows": [_row_dict(row) for row in pair.rows],
        "notes": list(pair.notes),
    }


def _side_dict(side: Side) -> dict[str, Any]:
    return {
        "name": side.name,
        "what": side.what,
        "load": {side.kind: side.level},
        "prompt_tokens": side.prompt_tokens,
        "output_tokens": side.output_tokens,
    }


def _row_dict(row: Row) -> dict[str, Any]:
    ends = row.ratio_ends
    return {
        "metric": row.metric,
        "percent": row.percent,
        "a": _value_dict(row.a),
        "b": _value_dict(row.b),
        "ratio": row.ratio,
        "ratio_interval": list(ends) if ends else None,
        "verdict": row.verdict,
    }


def _value_dict(value: Value) -> Mapping[str, float | None]:
    return {"value": value.value, "low": value.low, "high": value.high}
