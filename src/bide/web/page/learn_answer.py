"""The lesson's live examples, from what a visitor set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bide.facts.deployment import Deployment
from bide.plan.steady_fleet import SteadyFleet, steady_fleet, steady_fleets
from bide.report.lesson_charts import patience_chart
from bide.report.memory_answer import MemoryAnswer
from bide.report.memory_charts import Marked, context_chart
from bide.report.memory_text import count
from bide.simulate.curve import curve_of
from bide.simulate.operating import Curve, Load, Mix
from bide.web.page import checks
from bide.web.page.charts import spec
from bide.web.page.state import Key

MODEL, GPU = "meta-llama/Llama-3.1-8B", "l40s"
"""Of the examples: a model and a card that many have met."""
MIX = Mix(1000, 300)
PATIENCE_MS = ("25", "30", "35", "40", "45", "50", "60", "70", "80", "100", "120", "150")
PEAKS = ("1", "2", "5", "10", "20", "50", "100")
CONTEXTS = ("1024", "2048", "4096", "8192", "16384", "32768", "65536", "131072")
_LOADS = tuple(Load("concurrency", float(n)) for n in (*range(1, 17), *range(18, 65, 2), *range(68, 257, 4)))
KEYS = (
    Key("learn_context", "8192", checks.tokens("learn_context")),
    Key("learn_cache", "", checks.one_of("learn_cache", ("", "fp8"))),
    Key("learn_patience", "50", checks.number("learn_patience", 5, 1000)),
    Key("learn_peak", "20", checks.number("learn_peak", 0.1, 10_000)),
)


@dataclass(frozen=True, slots=True)
class LearnAnswer:
    """`fleet` is None where nobody can be that impatient with this card."""

    memory: MemoryAnswer
    contexts: dict[str, Any]
    curve: Curve
    fleet: SteadyFleet | None
    peak_rps: float
    patience: dict[str, Any]


def learn_answer(values: Mapping[str, str]) -> LearnAnswer:
    tokens, cache = int(values["learn_context"]), values["learn_cache"]
    plain = MemoryAnswer({"model": MODEL, "gpu": GPU}, [tokens])
    memory = MemoryAnswer({"model": MODEL, "gpu": GPU, "kv_dtype": cache}, [tokens]) if cache else plain
    marked = [Marked(tokens, count(memory.memory.replica_requests(tokens).mid))]
    before = plain.memory if cache else None
    curve, peak_rps = _curve(), float(values["learn_peak"])
    fleets = steady_fleets(curve, peak_rps, [float(ms) / 1e3 for ms in PATIENCE_MS])
    fleet = steady_fleet(curve, peak_rps, float(values["learn_patience"]) / 1e3)
    return LearnAnswer(
        memory=memory,
        contexts=spec(context_chart(memory.memory, marked, int(CONTEXTS[-1]), before=before)),
        curve=curve,
        fleet=fleet,
        peak_rps=peak_rps,
        patience=spec(patience_chart(fleets, fleet)),
    )


@lru_cache(maxsize=1)
def _curve() -> Curve:
    return curve_of(Deployment.resolve({"model": MODEL, "gpu": GPU}), MIX, _LOADS)
