"""Look at one model's traffic through a Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bide.errors import BadInput
from bide.i18n import _, ngettext
from bide.sourced import Assumption
from bide.units import format_seconds
from bide.workload.observing.api import Prometheus
from bide.workload.observing.asking import Looking
from bide.workload.observing.histogram import Histogram
from bide.workload.observing.names import Names, find
from bide.workload.observing.observation import LATENCIES, LENGTHS, Observation
from bide.workload.observing.rates import Rates, arrivals, level
from bide.workload.observing.reading import (
    choose_step_s,
    read_count,
    read_gauge,
    read_histogram,
    read_reasons,
    read_steps,
    scrape_interval_s,
)

_COUNTS = ("finished", "rejected", "aborted", "preemptions", "prefix_queries", "prefix_hits")
_GAUGES = ("running", "waiting", "kv_usage")
_MUCH = 0.01
"""A share from which something is worth a note."""
_NEARLY_ALL = 0.9


def observe(prometheus: Prometheus, looking: Looking) -> Observation:
    """The traffic of one model in the window.

    Raises BadInput where there is no such model, more than one, no histogram of lengths, or no request in the window.
    """
    names = find(prometheus, looking)
    histograms = _histograms(prometheus, names, looking)
    scrape_s = scrape_interval_s(prometheus, names, looking)
    step_s = choose_step_s(looking, scrape_s)
    counts = _counts(prometheus, names, looking, histograms)
    gauges = {role: read_gauge(prometheus, names, looking, role, step_s, _over(role)) for role in _GAUGES}
    fullest = read_gauge(prometheus, names, looking, "kv_usage", step_s, "max")
    rates = _rates(prometheus, names, looking, counts, gauges["waiting"], step_s)
    return Observation(
        served=names.served,
        looking=looking,
        address=prometheus.connection.shown,
        scrape_s=scrape_s,
        histograms=histograms,
        counts=counts,
        reasons=read_reasons(prometheus, names, looking),
        rates=rates,
        running=level(gauges["running"]),
        waiting=level(gauges["waiting"]),
        kv_usage=level(gauges["kv_usage"]),
        kv_fullest=max(fullest.values(), default=None),
        replicas=level(read_gauge(prometheus, names, looking, "running", step_s, "count")),
        missing=tuple(_missing(names)),
        notes=(*_notes(names, looking, histograms, counts, rates), *prometheus.warnings),
        assumptions=tuple(_assumptions(names, histograms)),
    )


def _over(role: str) -> str:
    return "avg" if role == "kv_usage" else "sum"


def _histograms(prometheus: Prometheus, names: Names, looking: Looking) -> dict[str, Histogram]:
    """Every histogram that there is; lengths of prompts and answers must be."""
    found: dict[str, Histogram] = {}
    for role in (*LENGTHS, *LATENCIES):
        histogram = read_histogram(prometheus, names, looking, role)
        if histogram is not None:
            found[role] = histogram
        elif role in LENGTHS[:2]:
            raise _no_lengths(names, looking, role)
    return _without_single_tokens(found) if names.known.single_token_tpot_is_zero else found


def _no_lengths(names: Names, looking: Looking, role: str) -> BadInput:
    if names.histogram(role) is not None:
        hint = _("{name} did not grow in it").format(name=names.histogram(role))
        return BadInput("window", format_seconds(looking.window_s), _("a time in which a request finished"), hint)
    need = names.known.token_histograms_need
    hint = _("the servers have no {name}").format(name=f"{names.wanted(role)}_bucket")
    hint += _("; older ones need {flag}").format(flag=need) if need else ""
    return BadInput("prometheus", None, _("servers that tell the lengths of requests"), hint)


def _without_single_tokens(found: Mapping[str, Histogram]) -> dict[str, Histogram]:
    """Without the time per token of requests that had one token: vLLM records 0 for what is not defined."""
    tpot, output = found.get("tpot"), found["output_tokens"]
    if tpot is None or 1.0 not in output.edges:
        return dict(found)
    singles = sum(output.counts[: output.edges.index(1.0)])
    rest = tpot.without_first(singles)
    return {role: each for role, each in {**found, "tpot": rest}.items() if role != "tpot" or rest.count > 0}


def _counts(
    prometheus: Prometheus, names: Names, looking: Looking, histograms: Mapping[str, Histogram]
) -> dict[str, float]:
    read = {role: read_count(prometheus, names, looking, role) for role in _COUNTS}
    counts = {role: count for role, count in read.items() if count is not None}
    if "ttft" in histograms:
        counts["begun"] = histograms["ttft"].count
    if counts.get("prefix_queries") and names.single("prefix_hits") is None:
        counts.setdefault("prefix_hits", 0.0)  # a counter that was never increased need not exist
    return counts


def _rates(
    prometheus: Prometheus,
    names: Names,
    looking: Looking,
    counts: Mapping[str, float],
    waiting: Mapping[int, float],
    step_s: float,
) -> Rates:
    """Requests by when they got their first token, with the growth of the queue; by when they finished, without."""
    ttft, finished = names.histogram("ttft"), names.single("finished")
    if ttft and counts.get("begun", 0.0) >= _NEARLY_ALL * counts.get("finished", 0.0):
        return arrivals(read_steps(prometheus, names, looking, f"{ttft}_count", step_s), waiting, step_s)
    counter = finished or f"{names.histogram('prompt_tokens')}_count"
    return arrivals(read_steps(prometheus, names, looking, counter, step_s), {}, step_s)


def _missing(names: Names) -> Iterator[str]:
    histograms = (role for role in (*LENGTHS, *LATENCIES) if names.histogram(role) is None)
    singles = (role for role in ("finished", "preemptions", "prefix_queries", *_GAUGES) if names.single(role) is None)
    yield from (names.wanted(role) for role in (*histograms, *singles) if names.wanted(role))


def _notes(
    names: Names,
    looking: Looking,
    histograms: Mapping[str, Histogram],
    counts: Mapping[str, float],
    rates: Rates,
) -> Iterator[str]:
    if rates.covered_s < _NEARLY_ALL * looking.window_s:
        share = rates.covered_s / looking.window_s
        yield _("There is data for {share:.0%} of the window; rates are means over that").format(share=share)
    yield from _uncounted(names, counts)
    for role, histogram in histograms.items():
        if not histogram.sum_fits:
            yield _("{role}: sum and buckets do not agree; some scrapes were lost").format(role=role)


def _uncounted(names: Names, counts: Mapping[str, float]) -> Iterator[str]:
    begun, finished = counts.get("begun", 0.0), counts.get("finished", 0.0)
    if not names.known.client_aborts_counted and begun > finished * (1 + _MUCH):
        open_ended = round(begun - finished)
        yield ngettext(
            "{n:,} request got a first token but no end: {engine} records no request that its client aborts",
            "{n:,} requests got a first token but no end: {engine} records no request that its client aborts",
            open_ended,
        ).format(n=open_ended, engine=names.served.engine)
    if counts.get("rejected", 0.0) >= 1:
        rejected = round(counts["rejected"])
        yield ngettext(
            "{n:,} request was rejected at a full queue; it is in no rate here",
            "{n:,} requests were rejected at a full queue; they are in no rate here",
            rejected,
        ).format(n=rejected)


def _assumptions(names: Names, histograms: Mapping[str, Histogram]) -> Iterator[Assumption]:
    yield Assumption(_("prompt and output lengths"), _("independent"), _("histograms do not say which go together"))
    yield Assumption(
        _("lengths within a bucket"), _("one curve for all"), _("fitted to the mean, which the sum of tokens gives")
    )
    for role in LENGTHS[:2]:
        of = histograms[role]
        if of.open_share > 0 and of.end < of.top:
            why = _("{share:.2%} lie above the last bucket, whose end is not told; --max-model-len sets it")
            yield Assumption(_("longest of {role}").format(role=role), of.end, why.format(share=of.open_share))
