"""From what a Prometheus holds to the metrics of one model: found by name, written as PromQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bide.errors import BadInput, UnknownName
from bide.facts.engine_metrics import OBSERVED_ENGINES, EngineMetrics, engine_metrics
from bide.i18n import _
from bide.units import format_seconds
from bide.workload.observing.api import Labels, Prometheus
from bide.workload.observing.asking import Looking

_MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class Served:
    """One model on one engine; `prefix` is what stands before the metrics' own names (`vllm:`, `ray_vllm_`)."""

    engine: str
    model: str
    prefix: str


@dataclass(frozen=True, slots=True)
class Names:
    """The metrics of what is served: which there are, and how to ask for them."""

    served: Served
    known: EngineMetrics
    there: frozenset[str]
    matchers: tuple[str, ...]

    def histogram(self, role: str) -> str | None:
        """The full name of a histogram, without _bucket."""
        return next((name for name in self._full(role) if f"{name}_bucket" in self.there), None)

    def single(self, role: str) -> str | None:
        """The full name of a counter or a gauge."""
        asked = (each for name in self._full(role) for each in (name, name.removesuffix("_total")))
        return next((name for name in asked if name in self.there), None)

    def wanted(self, role: str) -> str:
        """The name under which a metric is looked for first; empty where the engine has none."""
        return next(iter(self._full(role)), "")

    def select(self, name: str, span_s: float | None = None) -> str:
        """The selector of every series of that name, over a span if one is given."""
        return f"{name}{{{','.join(self.matchers)}}}" + (f"[{seconds(span_s)}]" if span_s else "")

    def per_replica(self, name: str) -> str:
        """A gauge with one series a replica: ranks that repeat each other's figure count once."""
        selected = self.select(name)
        return f"max without({','.join(self.known.rank_labels)}) ({selected})" if self.known.rank_labels else selected

    def _full(self, role: str) -> list[str]:
        return [self.served.prefix + metric.name for metric in self.known.names.get(role, ())]


def find(prometheus: Prometheus, looking: Looking) -> Names:
    """The metrics of the one model that is meant. Raises BadInput where there is none, or a choice to make."""
    served = _the_one(_all_served(prometheus, looking), looking)
    known = engine_metrics(served.engine)
    matchers = (_equals(known.model_label, served.model), *_matchers(looking.labels), *known.matchers)
    selector = f"{{__name__=~{_quoted(re.escape(served.prefix) + '.+')},{','.join(matchers)}}}"
    there = prometheus.names(selector, looking.since_s, looking.until_s)
    return Names(served, known, frozenset(there), matchers)


def seconds(span_s: float) -> str:
    """A span as PromQL writes it: whole milliseconds.

    >>> seconds(604800), seconds(0.25)
    ('604800s', '250ms')
    """
    return f"{span_s:.0f}s" if span_s == int(span_s) else f"{1000 * span_s:.0f}ms"


def _all_served(prometheus: Prometheus, looking: Looking) -> list[Served]:
    """Every model on every engine that has a gauge of running requests in that time."""
    patterns = {engine: _gauge(engine) for engine in OBSERVED_ENGINES}
    name = "|".join(patterns.values())
    selector = f"{{{','.join((f'__name__=~{_quoted(name)}', *_matchers(looking.labels)))}}}"
    found = prometheus.series(selector, looking.since_s, looking.until_s)
    if not found:
        raise _nothing(prometheus, selector, looking)
    served = {_served(labels, patterns) for labels in found}
    return sorted(served, key=lambda each: (each.model, each.engine, each.prefix))


def _gauge(engine: str) -> str:
    """A regular expression for an engine's gauge of running requests, whatever stands before it."""
    names = "|".join(metric.name for metric in engine_metrics(engine).names["running"])
    return f"(.*_)?{engine}[:_]({names})"


def _served(labels: Labels, patterns: Mapping[str, str]) -> Served:
    name = labels["__name__"]
    engine = next(engine for engine, pattern in patterns.items() if re.fullmatch(pattern, name))
    known = engine_metrics(engine)
    own = next(metric.name for metric in known.names["running"] if name.endswith(metric.name))
    return Served(engine, labels.get(known.model_label, ""), name.removesuffix(own))


def _nothing(prometheus: Prometheus, selector: str, looking: Looking) -> BadInput:
    """Nothing in the window: whether there is anything at all says what the matter is."""
    now_or_before = prometheus.series(selector, 0.0, looking.until_s)
    if now_or_before:
        given, hint = format_seconds(looking.window_s), _("all that it has of these servers is older")
        return BadInput("window", given, _("a time in which a server ran"), hint)
    labels = _(" with these labels") if looking.labels else ""
    hint = _("it has none{labels}; does it scrape /metrics of the servers? SGLang needs --enable-metrics")
    allowed = _("a Prometheus that scrapes vLLM or SGLang")
    return BadInput("prometheus", prometheus.connection.shown, allowed, hint.format(labels=labels))


def _the_one(served: list[Served], looking: Looking) -> Served:
    engines = sorted({each.engine for each in served})
    if looking.engine is not None and looking.engine not in engines:
        raise UnknownName("engine", looking.engine, engines, _("one of {names}").format(names=", ".join(engines)))
    served = [each for each in served if looking.engine in (None, each.engine)]
    models = sorted({each.model for each in served})
    if looking.model is not None and looking.model not in models:
        raise UnknownName("model", looking.model, models, _one_of(models))
    if looking.model is None and len(models) > 1:
        raise BadInput("model", None, _one_of(models), _("--model NAME says which of the models to look at"))
    served = [each for each in served if looking.model in (None, each.model)]
    if len(served) > 1:
        names = ", ".join(f"{each.engine} ({each.prefix}*)" for each in served)
        raise BadInput("engine", None, names, _("this model is served by several; --engine or --label says which"))
    return served[0]


def _one_of(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown + (_(" and {n} more").format(n=len(names) - _MOST_NAMED) if len(names) > _MOST_NAMED else "")


def _matchers(labels: Mapping[str, str]) -> Iterable[str]:
    return (_equals(name, value) for name, value in labels.items())


def _equals(name: str, value: str) -> str:
    return f"{name}={_quoted(value)}"


def _quoted(text: str) -> str:
    """A PromQL string: its escapes are those of Go, of which JSON's are a part."""
    return json.dumps(text, ensure_ascii=False)
