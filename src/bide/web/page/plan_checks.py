"""What the controls of a plan's form may hold, beside the checks that all tabs share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bide.errors import BadInput, BideError, UnknownName
from bide.facts.diurnal import day_curves
from bide.facts.gpus import find_gpu
from bide.i18n import _
from bide.located import parse_yaml
from bide.plan.asked.deployment import CHOICE_KEYS
from bide.units import parse_seconds
from bide.web.page.checks import Check, float_of
from bide.web.page.typed import plain_number
from bide.workload.measuring.peaks import DAY_HOURS

OWN_CONTROLS = ("engine", "tp", "weights", "kv_dtype")
"""Keys of a deployment that have controls of their own; any other is written as in the file."""
KNOBS = ("engine_version", *(key for key in CHOICE_KEYS if key not in OWN_CONTROLS))
_LONGEST_NAME = 60
_LONGEST = 600


def name(text: str) -> str:
    """What a service is called, on one line."""
    if len(text.strip()) > _LONGEST_NAME or not text.isprintable():
        raise BadInput("service", text[:20], _("a name of at most {n} characters").format(n=_LONGEST_NAME))
    return text.strip()


def line(text: str) -> str:
    """A few words, as a note or a source."""
    if len(text.strip()) > 200 or not text.isprintable():
        raise BadInput("text", text[:20], _("a short text"))
    return text.strip()


def percentile(text: str) -> str:
    """From 1 to 99.9, or `mean`."""
    given = text.strip().lower().removeprefix("p")
    if given == "mean":
        return given
    value = float_of("percentile", given)
    if not 1 <= value <= 99.9 or round(value, 6) != value:
        raise BadInput("percentile", text, _("a percentile from 1 to 99.9, or mean"))
    return f"{value:.10g}"


def percent(field: str, low: float, high: float) -> Check:
    """A share, with or without its sign; at most 9 places, which a service file reads."""

    def check(text: str) -> str:
        value = float_of(field, text.strip().removesuffix("%"))
        if not low <= value <= high:
            raise BadInput(field, text, _("a percentage from {low:g} to {high:g}").format(low=low, high=high))
        return f"{round(value, 6):.10g}"

    return check


def seconds(field: str, low_s: float, high_s: float) -> Check:
    """`300`, `5min`: the seconds."""

    def check(text: str) -> str:
        value = parse_seconds(plain_number(field, text), field)
        if not low_s <= value <= high_s:
            raise BadInput(field, text, _("seconds from {low:g} to {high:,.10g}").format(low=low_s, high=high_s))
        return f"{value:.10g}"

    return check


def hours(text: str) -> str:
    """A published day, `trace`, or 24 numbers with spaces or semicolons between them."""
    names = (*day_curves(), "trace")
    given = text.strip()
    if given in names:
        return given
    parts = given.replace(";", " ").replace(", ", " ").split() if " " in given or ";" in given else given.split(",")
    allowed = _("24 numbers, one for each hour from midnight on")
    if not parts or not parts[0][:1].isdigit():
        raise UnknownName("hours", text[:40], names, allowed)
    values = [float_of("hours", part) for part in parts]
    if len(values) != DAY_HOURS or not all(0 <= value <= 1e9 for value in values) or not any(values):
        raise BadInput("hours", text[:60], allowed, _("these are {n}").format(n=len(values)))
    return ",".join(f"{value:.6g}" for value in values)


def prices(text: str) -> str:
    """`h100-sxm:2.5,l40s:0.8`: USD per GPU hour."""
    found: dict[str, str] = {}
    for part in (one for one in text.split(",") if one.strip()):
        gpu, _colon, price = part.partition(":")
        value = float_of("prices", price)
        if not 1e-6 <= value <= 10_000:
            raise BadInput("prices", part, _("USD per GPU hour, above 0 and up to 10,000"))
        found[find_gpu(gpu.strip(), "prices").id] = f"{value:.10g}"
    return ",".join(f"{gpu}:{price}" for gpu, price in found.items())


def priced(text: str) -> dict[str, str]:
    """The same by GPU, as far as it can be read."""
    pairs = (part.partition(":") for part in text.split(",") if part.strip())
    return {gpu.strip(): price.strip() for gpu, _colon, price in pairs}


def knobs(text: str) -> str:
    """`max_num_seqs: [64, 256], block_size: 16`: other keys of a deployment."""
    found = flow_mapping(text, "knobs")
    for key, value in found.items():
        if key not in KNOBS:
            raise UnknownName("knobs", key, KNOBS, _("one of {keys}").format(keys=", ".join(KNOBS)))
        if isinstance(value, dict):
            raise BadInput("knobs", key, _("a value, or a list of values to choose from"))
    return flow(found)


def measured_as(text: str) -> str:
    """`tp: 2, kv_dtype: fp8`: the deployment that was measured."""
    found, known = flow_mapping(text, "measured_as"), (*OWN_CONTROLS, *KNOBS)
    for key, value in found.items():
        if key not in known:
            raise UnknownName("measured_as", key, known, _("one of {keys}").format(keys=", ".join(known)))
        if isinstance(value, dict | list):
            raise BadInput("measured_as", key, _("one value for each key: what was measured"))
    return flow(found)


def paths(text: str) -> str:
    """Files as a service file names them, each once, one a line."""
    found = list(dict.fromkeys(line.strip() for line in text.split("\n") if line.strip()))
    if not all(path.isprintable() for path in found):
        raise BadInput("files", text[:60], _("names of files"))
    return "\n".join(found)


def lengths(text: str) -> str:
    """`mean: 210, max: 4000`, or `1500`: tokens as a service file describes them."""
    from bide.workload.lengths import parse_lengths

    found = lengths_value(text)
    parse_lengths(found, "lengths")
    return flow(found) if isinstance(found, dict) else str(found)


def lengths_value(text: str) -> Any:
    """A number, or figures by their names."""
    given = text.strip().strip("{}")
    if ":" in given:
        return flow_mapping(given, "lengths")
    number = plain_number("lengths", given, whole=True)
    return int(number) if number.isdecimal() else number


def flow_mapping(text: str, field: str) -> dict[str, Any]:
    """`a: 1, b: [2, 3]` as a mapping, read as a service file is. Raises BadInput."""
    allowed = _("keys and values as in the service file, such as max_num_seqs: [64, 256], block_size: 16")
    if len(text) > _LONGEST:
        raise BadInput(field, text[:20], allowed)
    try:
        found = parse_yaml(f"{{{text.strip().strip('{}')}}}".encode(), Path(field), field).plain()
    except BideError:
        raise BadInput(field, text[:60], allowed) from None
    if not isinstance(found, dict) or any(value is None for value in found.values()):
        raise BadInput(field, text[:60], allowed)
    return found


def flow(values: Mapping[str, Any]) -> str:
    """A mapping in that form, on one line."""
    import yaml

    text: str = yaml.safe_dump(dict(values), sort_keys=False, default_flow_style=True, width=10**6, allow_unicode=True)
    return text.strip()[1:-1]
