"""How fast, from what a visitor set: a curve for each GPU or setting, and each at one number of clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.i18n import language
from bide.report.curve_answer import curves_said
from bide.report.curve_charts import chosen_rows, latency_chart, throughput_chart
from bide.report.curve_page import drawable
from bide.report.curve_part_charts import parts_chart
from bide.report.curve_said import CurvesSaid
from bide.report.shaped import Shaped
from bide.simulate.curve import points
from bide.simulate.operating import Load, Mix, Point
from bide.web.page import checks
from bide.web.page.charts import spec
from bide.web.page.deployment_form import raw_deployment
from bide.web.page.state import Key
from bide.web.settings import Settings

MOST_GPUS = 6
VARIED: Mapping[str, tuple[object, ...]] = {
    "": (None,),
    "tp": (1, 2, 4),
    "kv_dtype": ("auto", "fp8"),
    "weights": ("auto", "fp8", "int4"),
    "max_num_batched_tokens": (2048, 8192),
    "speculative_tokens": (0, 1, 2),
}
"""What can be compared beside GPUs, and its values."""
KEYS = (
    Key("gpus", "h100-sxm,a100-80g-sxm,l40s", checks.gpus("gpus", MOST_GPUS)),
    Key("vary", "", checks.one_of("vary", tuple(VARIED))),
    Key("prompt", "1000", checks.tokens("prompt")),
    Key("output", "500", checks.tokens("output")),
    Key("clients", "16", checks.whole("clients", 1, 100_000)),
    Key("parts_of", "0", checks.whole("parts_of", 0, 15)),
)
_ASKED = ("model", "config", "tp", "weights", "kv_dtype", "gpu_memory_utilization", "max_model_len", "gpus", "vary")
_MIX = ("prompt", "output")


@dataclass(frozen=True, slots=True)
class FastCharts:
    """Of one curve where a token's time goes, of all how long whole answers and first tokens take; None: no points."""

    parts: dict[str, Any] | None = None
    whole: dict[str, Any] | None = None
    first: dict[str, Any] | None = None


class _Drawn:
    """The charts of curves, whatever the clients, each made when it is first asked for."""

    def __init__(self, said: CurvesSaid) -> None:
        self._said = said
        self._parts: dict[int, Shaped | None] = {}

    @cached_property
    def throughput(self) -> Shaped:
        return throughput_chart(self._said)

    @cached_property
    def whole(self) -> Shaped:
        return latency_chart(self._said, "e2e_s")

    @cached_property
    def first(self) -> Shaped:
        return latency_chart(self._said, "ttft_s")

    def parts(self, number: int) -> Shaped | None:
        """Of a curve; None for one that has none."""
        curve = self._said.curves[number]
        if number not in self._parts:
            self._parts[number] = parts_chart(curve) if any(point.tpot_parts for point in curve.points) else None
        return self._parts[number]


@dataclass(frozen=True, slots=True)
class FastAnswer:
    """`chosen`: each curve at the clients that were set; `throughput`: the chart, None where nothing can be drawn."""

    said: CurvesSaid
    chosen: tuple[Point, ...]
    throughput: dict[str, Any] | None
    parts_of: int
    drawn: _Drawn | None

    @property
    def charts(self) -> FastCharts:
        """Those below the first: nobody waits for them."""
        if self.drawn is None:
            return FastCharts()
        parts = self.drawn.parts(self.parts_of)
        return FastCharts(spec(parts) if parts else None, spec(self.drawn.whole), spec(self.drawn.first))


def fast_answer(values: Mapping[str, str], settings: Settings, profile: Path | None = None) -> FastAnswer:
    """`profile`: a calibration's file. Raises BadInput for what cannot be put together."""
    asked = tuple((name, values[name]) for name in (*_ASKED, *_MIX))
    said, drawn = _kept_curves(asked, settings, profile, language())
    load = Load("concurrency", float(values["clients"]))
    cases = [(curve.deployment, curve.mix, load) for curve in said.curves]
    chosen = tuple(points(cases, profile)) if cases else ()
    parts_of = min(int(values["parts_of"]), max(0, len(said.curves) - 1))
    throughput = spec(drawn.throughput.with_rows(chosen=chosen_rows(said, chosen))) if drawn else None
    return FastAnswer(said, chosen, throughput, parts_of, drawn)


@lru_cache(maxsize=64)
def _kept_curves(
    asked: tuple[tuple[str, str], ...], settings: Settings, profile: Path | None, _language: str
) -> tuple[CurvesSaid, _Drawn | None]:
    """The curves of what was asked, and what draws them; moving the clients does not make them anew."""
    values = dict(asked)
    mix = Mix(float(values["prompt"]), float(values["output"]))
    cases = [(deployment, mix) for deployment in _deployments(values, settings)]
    said = curves_said(cases, None, profile, explain=True)
    return said, _Drawn(said) if drawable(said) else None


def _deployments(values: Mapping[str, str], settings: Settings) -> Iterator[Deployment]:
    """Each GPU with each value of what is varied; a combination that cannot be is left out where others can."""
    key, refused, found = values["vary"], None, 0
    for gpu in values["gpus"].split(","):
        raw = raw_deployment({**values, "gpu": gpu}, settings)
        for value in VARIED[key]:
            try:
                deployment = Deployment.resolve({**raw, key: value} if key else raw)
            except BadInput as error:
                refused = error
                continue
            found += 1
            yield deployment
    if refused and not found:
        raise refused
