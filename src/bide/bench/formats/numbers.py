"""Numbers out of foreign JSON: whatever is no finite number is None, never a surprise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bide.bench.formats.values import Figures, Metric

_PERCENTILE = re.compile(r"^p(\d+(?:[.p]\d+)?)$")
MS = 1e-3


def number(value: object) -> float | None:
    """A finite number; None for anything else (text that spells one counts).

    >>> number("1.5"), number(True), number("inf"), number(None)
    (1.5, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def positive(value: object) -> float | None:
    """A finite number above 0."""
    found = number(value)
    return found if found is not None and found > 0 else None


def count(value: object) -> int | None:
    """A whole number from 0 on."""
    found = number(value)
    return int(found) if found is not None and found >= 0 and found == int(found) else None


def mapping(value: object) -> Mapping[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> Sequence[Any]:
    """`value` where it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def percent_of(name: str) -> float | None:
    """The percent that a key means.

    >>> percent_of("p99"), percent_of("p99.9"), percent_of("p99p9"), percent_of("p999"), percent_of("mean")
    (99.0, 99.9, 99.9, 99.9, None)
    """
    if name in ("median", "p50"):
        return 50.0
    found = _PERCENTILE.match(name)
    if not found:
        return None
    digits = found[1].replace("p", ".")
    short = {"001": 0.1, "01": 1.0, "05": 5.0, "999": 99.9, "9999": 99.99}
    value = short.get(digits, float(digits))
    return value if 0 <= value <= 100 else None


def figures(said: object, unit_s: float, *, mean: str = "mean", std: str = "") -> Figures | None:
    """Figures of `{"mean": .., "p50": .., "median": .., "count": ..}` in units of `unit_s` seconds; None for none."""
    found = mapping(said)
    value = number(found.get(mean))
    points = {}
    for name, raw in {**mapping(found.get("percentiles")), **found}.items():
        percent, seconds = percent_of(str(name)), number(raw)
        if percent is not None and seconds is not None:
            points[percent] = seconds * unit_s
    if value is None and not points:
        return None
    spread = number(found.get(std)) if std else None
    return Figures(
        None if value is None else value * unit_s,
        dict(sorted(points.items())),
        count(found.get("count")),
        None if spread is None else spread * unit_s,
    )


def named_figures(found: Mapping[str, Any], suffix: str, unit_s: float, counted: int | None = None) -> Figures | None:
    """Figures of `mean_x`, `std_x`, `median_x` and `p99_x` with `suffix` `_x`, in units of `unit_s`; None for none."""
    names = {key.removesuffix(suffix): key for key in found if key.endswith(suffix)}
    values = {short: value * unit_s for short, key in names.items() if (value := number(found[key])) is not None}
    points = {percent: value for name, value in values.items() if (percent := percent_of(name)) is not None}
    if "mean" not in values and not points:
        return None
    return Figures(values.get("mean"), dict(sorted(points.items())), counted, values.get("std"))


def words(value: object) -> str | None:
    """Text that says something."""
    return value.strip() if isinstance(value, str) and value.strip() else None


def with_tpot(latency: Mapping[Metric, Figures], output_tokens: float | None) -> dict[Metric, Figures]:
    """TPOT's mean from the means of E2E and TTFT, (E2E - TTFT) / (output tokens - 1), for tools whose own is another
    figure; no TPOT where those are not said, or do not go together."""
    rest: dict[Metric, Figures] = {metric: figures for metric, figures in latency.items() if metric != "tpot"}
    whole, first = (rest[metric].mean_s if metric in rest else None for metric in ("e2e", "ttft"))
    if whole is None or first is None or whole <= first or not output_tokens or output_tokens <= 1:
        return rest
    return {**rest, "tpot": Figures((whole - first) / (output_tokens - 1), {}, rest["e2e"].count)}
