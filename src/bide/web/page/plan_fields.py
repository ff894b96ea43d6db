"""The inputs of a plan's form, and where a service file has them.

A service's inputs are called `margin`, those of the second one `margin-2`. What one control says of one value of the
file is a `Field`; models, workloads, patience and the like, which take several controls, are put together in
`plan_question` and taken apart in `plan_opening`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bide.facts.engines import ENGINES
from bide.plan.question import Timed
from bide.simulate.fleet.rules import ROUTERS
from bide.web.page import checks, plan_checks
from bide.web.page.deployment_form import CACHE, WEIGHTS
from bide.web.page.job_checks import identities, identity
from bide.web.page.state import Key
from bide.web.samples import samples

MOST_SERVICES = 8
MOST_LIMITS = 5
MOST_GPUS = 8
MOST_RESULTS = 100
WORKLOADS = ("lengths", "sample", "trace", "file")
SIZES = ("1", "2", "4", "8", "16")
LATENCIES: tuple[Timed, ...] = ("e2e", "ttft", "tpot", "itl")
AUTO = "auto"
FORMATS = (AUTO, *WEIGHTS)
CACHES = (AUTO, *CACHE)


@dataclass(frozen=True, slots=True)
class Field:
    """`write` gives the value at `path` of the file for the text of the control, `read` the text for the value.

    Not written where the text is the default, unless `always`.
    """

    key: str
    path: str
    default: str
    check: checks.Check
    write: Callable[[str], Any] = str
    read: Callable[[Any], str] = str
    always: bool = False


def number(text: str) -> float | int:
    """As short as it can be said."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def listed(text: str) -> list[str]:
    """The parts between commas; none of an empty text."""
    return [part for part in text.split(",") if part]


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _sizes(text: str) -> list[int]:
    return [int(size) for size in text.split(",")]


def _percent(text: str) -> str:
    return f"{text}%"


def _growth(value: Any) -> str:
    """`20%` and 1.2 as 20."""
    return value if isinstance(value, str) else f"{100 * (float(value) - 1):.10g}"


def _hours(text: str) -> Any:
    return [number(part) for part in text.split(",")] if "," in text else text


def _apart(text: str) -> Any:
    return True if text == "yes" else [False, True]


def _said_apart(value: Any) -> str:
    return (
        "either"
        if isinstance(value, list) and len(value) > 1
        else {"True": "yes", "False": ""}.get(_joined(value), "?")
    )


def _off(text: str) -> bool:
    return text != "no"


def _said_off(value: Any) -> str:
    return {True: "", False: "no"}.get(value, "?") if isinstance(value, bool) else "?"


def _choice(key: str, *values: str) -> checks.Check:
    return checks.one_of(key, ("", *values))


_NUMBER = checks.number
_ONE_OF, _SOME_OF = checks.one_of, checks.some_of
SERVICE_FIELDS = (
    Field("service", "name", "chat", plan_checks.name, always=True),
    Field("margin", "traffic.margin", "1.5", _NUMBER("margin", 1, 10), number, always=True),
    Field("growth", "traffic.growth", "", plan_checks.percent("growth", -90, 900), _percent, _growth),
    Field("hours", "traffic.hours", "", plan_checks.hours, _hours, _joined),
    Field("users", "traffic.users", "", _NUMBER("users", 1, 1e12), number),
    Field("source", "workload.source", "", plan_checks.line),
    Field("scale_prompt", "workload.scaled_to.prompt", "", _NUMBER("scale_prompt", 1, 1e6), number),
    Field("scale_output", "workload.scaled_to.output", "", _NUMBER("scale_output", 1, 1e6), number),
    Field("engine", "deployment.engine", "vllm", _ONE_OF("engine", ENGINES), always=True),
    Field("plan_tp", "deployment.tp", "", _SOME_OF("plan_tp", SIZES), _sizes, _joined),
    Field("plan_weights", "deployment.weights", "", _SOME_OF("plan_weights", FORMATS), listed, _joined),
    Field("plan_kv", "deployment.kv_dtype", "", _SOME_OF("plan_kv", CACHES), listed, _joined),
    Field("apart", "disaggregated", "", _choice("apart", "yes", "either"), _apart, _said_apart),
    Field("api_in", "api_price.input", "", _NUMBER("api_in", 0, 10_000), number),
    Field("api_out", "api_price.output", "", _NUMBER("api_out", 0, 10_000), number),
)
"""Of each service."""
SHARED_FIELDS = (
    Field("plan_gpus", "hardware.gpus", "h100-sxm,l40s", checks.gpus("plan_gpus", MOST_GPUS), listed, _joined, True),
    Field("max_gpus", "hardware.max_gpus", "64", checks.whole("max_gpus", 1, 10_000), int, always=True),
    Field("price_factor", "hardware.price_multiplier", "", _NUMBER("price_factor", 0.01, 10), number),
    Field("price_note", "hardware.price_note", "", plan_checks.line),
    Field("router", "fleet.router", "round-robin", _ONE_OF("router", ROUTERS)),
    Field("spare", "fleet.spare_replicas", "0", checks.whole("spare", 0, 1000), int),
    Field("rolling", "fleet.rolling_replicas", "0", checks.whole("rolling", 0, 1000), int),
    Field("scale_up", "fleet.scale_up", "300", plan_checks.seconds("scale_up", 0, 86_400), number),
    Field("share", "fleet.share", "", _choice("share", "no"), _off, _said_off),
    Field("split", "fleet.split", "", _choice("split", "no"), _off, _said_off),
)
"""Of the whole question."""
FIELDS: Mapping[str, Field] = {field.key: field for field in (*SERVICE_FIELDS, *SHARED_FIELDS)}


def row(name: str, number: int) -> str:
    """The key of a limit's control: `patience`, `patience_2`."""
    return name if number == 1 else f"{name}_{number}"


def _limit_keys() -> list[Key]:
    """The first limit is there unless it says `none`; the others where they say on what."""
    made = []
    for place in range(1, MOST_LIMITS + 1):
        first = place == 1
        on, percent, most = (row(name, place) for name in ("limit_on", "percentile", "patience"))
        made += [
            Key(on, "e2e" if first else "", checks.one_of(on, (*LATENCIES, "none") if first else ("", *LATENCIES))),
            Key(percent, "95", plan_checks.percentile),
            Key(most, "5" if first else "1", checks.number(most, 0.001, 86_400_000)),
        ]
    return made


_SERVICE_KEYS = (
    *(Key(field.key, field.default, field.check) for field in SERVICE_FIELDS),
    *_limit_keys(),
    Key("goodput", "", plan_checks.percent("goodput", 1, 99.9)),
    Key("good_e2e", "", checks.number("good_e2e", 0.001, 86_400)),
    Key("good_ttft", "", checks.number("good_ttft", 0.001, 86_400)),
    Key("good_tpot", "", checks.number("good_tpot", 0.001, 86_400_000)),
    Key("peak_rps", "10", checks.number("peak_rps", 0.001, 1_000_000)),
    Key("peak_from", "", _choice("peak_from", "trace", "observed")),
    Key("window", "", plan_checks.seconds("window", 1, 1e9)),
    Key("work", "lengths", checks.one_of("work", WORKLOADS)),
    Key("prompt_p50", "1000", checks.tokens("prompt_p50")),
    Key("prompt_p95", "3500", checks.tokens("prompt_p95")),
    Key("output_p50", "130", checks.tokens("output_p50")),
    Key("output_p95", "500", checks.tokens("output_p95")),
    Key("prompt_by", "", plan_checks.lengths),
    Key("output_by", "", plan_checks.lengths),
    Key("sample", "azure-conv-2023", checks.one_of("sample", [each.name for each in samples()])),
    Key("trace", "", identity("trace")),
    Key("trace_awaited", "", plan_checks.paths),
    Key("knobs", "", plan_checks.knobs),
    Key("measured", "", identities("measured", MOST_RESULTS)),
    Key("measured_awaited", "", plan_checks.paths),
    Key("measured_gpu", "", checks.gpu("measured_gpu")),
    Key("measured_as", "", plan_checks.measured_as),
)
_MODEL_KEYS = (Key("model", "meta-llama/Llama-3.1-8B"), Key("config"))
"""Of the first service these are those of the other tabs."""
SERVICE_NAMES = tuple(key.name for key in (*_MODEL_KEYS, *_SERVICE_KEYS))


def at(name: str, place: int) -> str:
    """What an input of a service is called: `margin`, `margin-2`."""
    return name if place == 1 else f"{name}-{place}"


def place_of(key: str) -> tuple[str, int]:
    """The other way round."""
    name, _dash, place = key.rpartition("-")
    return (name, int(place)) if name in SERVICE_NAMES and place.isdigit() else (key, 1)


FILES = ("trace", "measured")
"""Inputs that hold files which were dropped, by their numbers."""


def awaiting(key: str) -> str:
    """The input beside one of those: the files that a service file names and that are not here yet, one a line."""
    name, place = place_of(key)
    return at(f"{name}_awaited", place)


def _further(place: int) -> list[Key]:
    """The inputs of a further service, which is there where it has a name."""
    plain = (*_MODEL_KEYS, *_SERVICE_KEYS)
    return [Key(at(key.name, place), "" if key.name == "service" else key.default, key.check) for key in plain]


KEYS = (
    *_SERVICE_KEYS,
    *(key for place in range(2, MOST_SERVICES + 1) for key in _further(place)),
    *(Key(field.key, field.default, field.check) for field in SHARED_FIELDS),
    Key("prices", "", plan_checks.prices),
)
"""Beside `model` and `config`, which all tabs share."""
QUESTION = ("model", "config", "profile", *(key.name for key in KEYS))
"""What a plan depends on."""


def places(values: Mapping[str, str]) -> tuple[int, ...]:
    """The services that there are."""
    return (1, *(place for place in range(2, MOST_SERVICES + 1) if values[at("service", place)]))


def of_service(values: Mapping[str, str], place: int) -> dict[str, str]:
    """The inputs of one service, under the names of the first one's."""
    return {name: values[at(name, place)] for name in SERVICE_NAMES}
