"""What a run brings: its cells with their figures, and what the client must confess."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bide.bench.health import BUSY, LARGEST_SHARE, Health
from bide.bench.loads import Load
from bide.bench.outcome import Outcome
from bide.bench.scrape import ServerView
from bide.bench.summary import Metric, Summary, summarise
from bide.bench.table import table_of
from bide.i18n import _, ngettext
from bide.metrics import ENOUGH_FOR_P99
from bide.records import RequestTable

if TYPE_CHECKING:
    import polars as pl

_ACHIEVED = 0.98
_LATE_S = 0.005
_IN_FLIGHT = 0.95
_HITS = 0.01
_STOOD, _LONG_S = 0.01, 0.25
"""Of a run: a client that stood still for longer has not played the load that was asked. Closed loops have no schedule
that would be moved: there the longest pause tells, if it is long."""


@dataclass(frozen=True)
class Cell:
    """One level of load, measured. `missing` are requests of a cut-off run that nobody measured."""

    number: int
    load: Load
    outcomes: Sequence[Outcome]
    health: Health
    counts: Mapping[str, int] = field(default_factory=dict)
    server: ServerView = field(default_factory=ServerView)
    warm_up_s: float | None = None
    limits_s: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False
    gap_s: tuple[float, ...] = ()
    """Where on the cell's clock it was taken up again."""
    asked_requests: int | None = None
    shared_prefix_tokens: int = 0

    @cached_property
    def table(self) -> RequestTable:
        return table_of(self.outcomes)

    @cached_property
    def summary(self) -> Summary:
        return summarise(self.outcomes, self.table, self.warm_up_s, self.limits_s)

    @property
    def missing(self) -> int:
        return max(0, (self.asked_requests or 0) - len([each for each in self.outcomes if each.status != "cancelled"]))

    def warnings(self) -> list[str]:
        """What makes these figures less than they seem, worst first."""
        return [*self._client(), *self._tail(), *self._load(), *self._server(), *self._data(), *self._completeness()]

    @property
    def client_kept_up(self) -> bool:
        """False where the client lagged by more than a tenth of what it measured, stood still, or had no CPU left.

        A lag that is seldom spoils the tail of the time between tokens and no mean: it is told, and is none.
        """
        return not list(self._client())

    @property
    def tail_is_the_clients(self) -> bool:
        """Whether p99 of the time between tokens cannot be believed: no mean suffers from it, nor does TTFT."""
        itl = self.summary.latency("itl")
        return bool(itl and itl.count and self.health.spoils_tail(itl.at(99)))

    def _client(self) -> Iterator[str]:
        health = self.health
        lags: tuple[tuple[Metric, float, int], ...] = (
            ("ttft", max(health.lag_p99_s, health.late_p99_s), 99),
            ("itl", health.lag_p50_s, 50),
        )
        for metric, own_s, percent in lags:
            latency = self.summary.latency(metric)
            if latency and latency.count and own_s > LARGEST_SHARE * latency.at(50):
                yield _(
                    "The client lagged by {lag:.3g} ms (p{percent}), more than a tenth of the median {name} of"
                    " {value:.3g} ms: these figures are of the client as much as of the server."
                ).format(lag=own_s * 1e3, percent=percent, name=metric.upper(), value=latency.at(50) * 1e3)
        if health.cpu_share > BUSY:
            yield _("The client used {share:.0%} of its CPU: try --processes.").format(share=health.cpu_share)
        if health.stood_share > _STOOD:
            yield self._stood()
        elif health.lag_max_s > max(_STOOD * health.wall_s, _LONG_S):
            text = _("The client stood still for {s:.3g} s: what came meanwhile has the time of its waking.")
            yield text.format(s=health.lag_max_s)

    def _stood(self) -> str:
        return ngettext(
            "The client stood still {n:,} time; the schedule was moved by {s:.3g} s in all, to send no burst.",
            "The client stood still {n:,} times; the schedule was moved by {s:.3g} s in all, to send no burst.",
            self.health.stalls,
        ).format(n=self.health.stalls, s=self.health.shifted_s)

    def _tail(self) -> Iterator[str]:
        itl = self.summary.latency("itl")
        if self.tail_is_the_clients and itl is not None and self.client_kept_up:
            yield _(
                "The client lagged by {lag:.3g} ms (p99), more than a tenth of ITL p99, {value:.3g} ms: the tail of ITL"
                " is of the client as much as of the server."
            ).format(lag=self.health.lag_p99_s * 1e3, value=itl.at(99) * 1e3)
        if 0 < self.health.stood_share <= _STOOD:
            yield self._stood()

    def _load(self) -> Iterator[str]:
        summary, load = self.summary, self.load
        if load.kind != "closed" and self.health.sent_p99_s > _LATE_S:
            yield _("Requests were written up to {ms:.3g} ms (p99) after they were due.").format(
                ms=self.health.sent_p99_s * 1e3
            )
        if load.kind == "open" and load.ramp_from is None and load.rate and not summary.window.whole:
            if summary.sent_per_s < _ACHIEVED * load.rate:
                yield _("{got:.4g} requests/s were sent of {asked:.4g} asked.").format(
                    got=summary.sent_per_s, asked=load.rate
                )
            if summary.flight.grows:
                yield _("Not steady: more and more requests were in flight; a longer run would wait longer.")
        steady = load.kind == "closed" and load.ramp_from is None and not load.think_s and not summary.window.whole
        if steady and load.concurrency and summary.flight.mean < _IN_FLIGHT * load.concurrency:
            yield _("{got:.4g} requests were in flight on average of {asked:,} asked.").format(
                got=summary.flight.mean, asked=load.concurrency
            )
        if summary.window.whole:
            yield _("Short run: ramp and drain are in the figures; no steady state was left to measure.")

    def _server(self) -> Iterator[str]:
        share = self.server.hit_share
        share = max(self.summary.cached_share, share if math.isfinite(share) else 0.0)
        if share > _HITS:
            yield _("{share:.1%} of prompt tokens came from the server's prefix cache.").format(share=share)
        preemptions = self.server.grown("preemptions")
        if preemptions > 0:
            yield ngettext(
                "The server preempted {n:,.0f} request.", "The server preempted {n:,.0f} requests.", round(preemptions)
            ).format(n=preemptions)

    def _data(self) -> Iterator[str]:
        summary, off = self.summary, self.summary.mismatch
        if summary.failed:
            yield ngettext(
                "{n:,} of {all:,} requests failed; it is in no percentile.",
                "{n:,} of {all:,} requests failed; they are in no percentile.",
                summary.failed,
            ).format(n=summary.failed, all=summary.requests)
        if off.output_off:
            yield ngettext(
                "{n:,} answer was not as long as asked: {got:,} tokens instead of {asked:,}.",
                "{n:,} answers were not as long as asked: {got:,} tokens instead of {asked:,}.",
                off.output_off,
            ).format(n=off.output_off, got=off.output_got, asked=off.output_asked)
        if off.prompt_off and off.prompt_worst > 1:
            yield ngettext(
                "{n:,} prompt was not as long as asked, by up to {worst:,} tokens.",
                "{n:,} prompts were not as long as asked, by up to {worst:,} tokens.",
                off.prompt_off,
            ).format(n=off.prompt_off, worst=off.prompt_worst)
        short = sum(row.prompt_asked <= self.shared_prefix_tokens for row in self.outcomes)
        if short and self.shared_prefix_tokens:
            yield ngettext(
                "{n:,} prompt has no room beside the shared prefix of {prefix:,} tokens: it is cut.",
                "{n:,} prompts have no room beside the shared prefix of {prefix:,} tokens: it is cut.",
                short,
            ).format(n=short, prefix=self.shared_prefix_tokens)

    def _completeness(self) -> Iterator[str]:
        summary = self.summary
        if summary.requests and not summary.mismatch.counted_by_server:
            yield _("The server counts no tokens: chunks were counted instead, and prompts taken as asked.")
        ok = summary.by_status.get("ok", 0)
        if 0 < ok < ENOUGH_FOR_P99:
            yield ngettext(
                "{n:,} request: a p99 wants {enough:,}.", "{n:,} requests: a p99 wants {enough:,}.", ok
            ).format(n=ok, enough=ENOUGH_FOR_P99)
        if self.interrupted and not self.missing:
            yield _("Cut short.")
        elif self.missing:
            yield ngettext(
                "Cut short: {n:,} request is missing.", "Cut short: {n:,} requests are missing.", self.missing
            ).format(n=self.missing)
        if self.gap_s:
            yield ngettext(
                "Resumed {n} time, on a server that may have been idle meanwhile.",
                "Resumed {n} times, each on a server that may have been idle meanwhile.",
                len(self.gap_s),
            ).format(n=len(self.gap_s))


@dataclass(frozen=True)
class Bench:
    """A whole run. `settings` are what was asked and found, without secrets."""

    settings: Mapping[str, Any]
    cells: tuple[Cell, ...]
    found: Mapping[str, Any] = field(default_factory=dict)
    """Knee of a sweep, or what a search for an objective found."""
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> RequestTable:
        """A row for each request of the last cell."""
        return self.cells[-1].table

    def to_polars(self) -> pl.DataFrame:
        """A row for each request of every cell."""
        import polars as pl

        frames = [
            cell.table.to_polars().with_columns(pl.lit(cell.number).alias("cell")).drop("replica", "preemptions")
            for cell in self.cells
        ]
        return pl.concat(frames)

    def to_dict(self) -> dict[str, Any]:
        from bide.bench.as_dict import bench_dict

        return bench_dict(self)
