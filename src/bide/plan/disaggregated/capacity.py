"""The highest rate at which a fleet of so many replicas for prompts and so many for answers keeps what is asked.

As for a single replica (`plan.capacity`): each pair of counts has a rate R, found by halving a grid that is fixed
for it, so that a longer patience never lowers R. A pair is enough for a load of at most R. A longer patience or a lower
load leaves every pair enough that was, and the pair of the fewest replicas is looked for by questions that depend
on neither (`smallest`): **their number never grows with patience and never shrinks with load**.

Of a large fleet a cell is simulated (`cell`). Rates are those of one replica for prompts, on the same grid whatever
the pair is, but for powers of two: pairs with the same cell share its runs, and others those of its prompts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from bide.plan.asks import Asks, Probe
from bide.plan.basket import Basket, Share, run_requests, stream_of
from bide.plan.candidate import End
from bide.plan.capacity import FULLEST, halved
from bide.plan.disaggregated.bounds import PairBounds
from bide.plan.disaggregated.cell import Cell, cell_of
from bide.plan.disaggregated.pair import Pair
from bide.plan.disaggregated.prompts import Prompts, after_prompts, computed
from bide.plan.disaggregated.smallest import fewest
from bide.plan.disaggregated.stages import after_prompt_s
from bide.plan.disaggregated.watch import Answering, CellSeen, PairSeen, watch_cell
from bide.plan.question import Timed
from bide.plan.remembered import PromptsKey
from bide.simulate.fleet.link import Link
from bide.simulate.scheduler.requests import Requests

_MOST_STREAM = 65_536
_LONG = 4
"""Times as many answers as usual, where the usual run leaves it open."""
_MOST_DIFFERENT = 16_384
"""Requests of a longer run than usual: more of the same would be no surer."""
_IDLE = 1e-4
"""Of the rate at which a fleet works off a backlog."""
_DIGITS = 12
"""Of a rate: the same one, whichever pair it was made for."""
_ROUNDING = 1e-9
_FROM_ARRIVAL: tuple[Timed, ...] = ("ttft", "e2e")
"""What contains the time of the prompt."""


class PairCapacity(PairBounds):
    """One candidate's simulated fleets: what was simulated once is not simulated again."""

    def cell(self, pair: Pair) -> Cell:
        """What is simulated of a fleet."""
        engines = self.setup("likely").engines
        return cell_of(pair.prefill * engines, pair.decode * engines)

    def _stream(self, cell: Cell) -> Basket:
        """Requests of a cell: enough for a longer run, and for half a usual one at each engine of either kind."""
        if cell not in self._streams:
            usual, engines = run_requests(self.service), math.ceil(max(cell.answers, cell.prompts))
            times = max(1 << (math.ceil(engines / 2) - 1).bit_length(), -(-self._answers(_LONG) // usual))
            share = Share(cell.one_in, self.router == "random")
            self._streams[cell] = stream_of(self.service, min(_MOST_STREAM, times * usual), share)
        return self._streams[cell]

    def _answers(self, times: int) -> int:
        usual = run_requests(self.service)
        return min(times * usual, max(usual, min(len(self.service.workload), _MOST_DIFFERENT)))

    def _prompts_key(self, each_rps: float, cell: Cell, end: End) -> PromptsKey:
        """What its engines for prompts do depends on, where a replica gets `each_rps`."""
        key = end, each_rps, cell.prompts, cell.one_in, len(self._stream(cell))
        self._asked.add(key)
        return key

    def _requests(self, each_rps: float, cell: Cell, end: End) -> Requests:
        setup = self.setup(end)
        return self._stream(cell).requests(setup.config, each_rps / setup.engines * cell.prompts)

    def _prompts(self, each_rps: float, cell: Cell, end: End) -> Prompts:
        def compute() -> Prompts:
            return computed(self.setup(end), self._requests(each_rps, cell, end), cell.prompts, self.router)

        return self._kept.prompts(self._prompts_key(each_rps, cell, end), compute)

    def at(self, requests_per_s: float, pair: Pair, end: End = "likely", times: int = 1) -> PairSeen | None:
        """The fleet at a rate, over `times` the usual answers; None where it is too busy."""
        seen = self._seen(_each(requests_per_s, pair), pair, end, times)
        return None if seen is None else PairSeen.at(requests_per_s, seen)

    def _seen(self, each_rps: float, pair: Pair, end: End, times: int = 1) -> CellSeen | None:
        link, cell = self.link(pair), self.cell(pair)
        if link is None or self._is_too_busy(each_rps, pair, end):
            return None
        key, found = (end, each_rps, cell, link.bytes_per_s, self._answers(times)), self._kept.cells
        self._asked.add(key)
        if key not in found:
            prompts, requests = self._prompts(each_rps, cell, end), self._requests(each_rps, cell, end)
            answering = Answering(cell, link, self.router, self._answers(times))
            found[key] = watch_cell(self.setup(end), requests, prompts, answering, self.probes)
        return found[key]

    def _is_too_busy(self, each_rps: float, pair: Pair, end: End) -> bool:
        return each_rps * pair.prefill > FULLEST * self.saturated_rps(pair, end)

    def value(self, requests_per_s: float, pair: Pair, probe: Probe, end: End = "likely") -> float:
        """What is promised of `probe`, as `Capacity.value` is; infinite where the fleet is too busy."""
        each_rps = _each(requests_per_s, pair)
        seen, longer = (self._seen(each_rps, pair, end, times) for times in (1, _LONG))
        if seen is None or longer is None:
            return math.inf
        value, above = seen.values[probe]
        return min(above, max(value, longer.values[probe][1])) * self._one.further(probe, end)

    def keeps(self, requests_per_s: float, pair: Pair, asks: Asks, end: End = "likely") -> bool:
        """Whether `value` is within everything that is asked; nothing is run that does not decide."""
        return self._keeps(_each(requests_per_s, pair), pair, asks, end)

    def _keeps(self, each_rps: float, pair: Pair, asks: Asks, end: End) -> bool:
        if self._is_too_busy(each_rps, pair, end) or not self.alone_keeps(pair, asks):
            return False
        if each_rps * pair.prefill > pair.decode * self.answers_rps(asks, end):
            return False
        most = self.most(asks, end)
        if not self._prompts_keep(each_rps, self.cell(pair), self.link(pair), most, end):
            return False
        seen = self._seen(each_rps, pair, end)
        if seen is None or any(seen.values[ask.probe][0] > ask.most for ask in most):
            return False
        opened = [ask for ask in most if seen.values[ask.probe][1] > ask.most]
        if not opened:
            return True
        longer = self._seen(each_rps, pair, end, _LONG)
        return longer is not None and all(longer.values[ask.probe][1] <= ask.most for ask in opened)

    def _prompts_keep(self, each_rps: float, cell: Cell, link: Link | None, most: Asks, end: End) -> bool:
        """Whether the prompts alone leave it open."""
        least = self._after_prompts(each_rps, cell, link, end) if link else {}
        return bool(link) and all(least[ask.probe] <= ask.most for ask in most)

    def _after_prompts(self, each_rps: float, cell: Cell, link: Link, end: End) -> dict[Probe, float]:
        """The least that everything can come to, once the prompts are computed."""
        key, found = (self._prompts_key(each_rps, cell, end), link.bytes_per_s), self._kept.after_prompts
        if key not in found:
            setup, stream = self.setup(end), self._stream(cell)
            after_s = {name: after_prompt_s(setup, stream, link, name) for name in _FROM_ARRIVAL}
            takes_s = self._prompts(each_rps, cell, end).done_s - self._requests(each_rps, cell, end).arrival_s
            found[key] = {probe: after_prompts(takes_s, probe, after_s) for probe in self.probes}
        return found[key]

    def halving(self, pair: Pair, asks: Asks, end: End = "likely") -> Iterator[tuple[float, float]]:
        """(a rate that is kept, a rate that is not), nearer and nearer."""
        top = self.worked_off_rps("prompts")
        top /= 2 ** math.floor(math.log2(pair.prefill * top / self.saturated_rps(pair)) + _ROUNDING)
        for kept, broken in halved(top, lambda each: self._keeps(_rounded(each), pair, asks, end)):
            yield kept * pair.prefill, broken * pair.prefill

    def highest_rate(self, pair: Pair, asks: Asks, end: End = "likely") -> float:
        """Requests a second of the whole fleet, to a step of the grid; 0 where none holds."""
        if not self.saturated_rps(pair):
            return 0.0
        kept, _broken = list(self.halving(pair, asks, end))[-1]
        return min(kept, self.highest_rate(pair, asks)) if end == "slow" else kept

    def is_enough(self, pair: Pair, planned_rps: float, asks: Asks, end: End = "likely") -> bool:
        """Whether the load is at most the pair's highest rate; halving ends as soon as that is certain."""
        if planned_rps > FULLEST * self.saturated_rps(pair, end) or not self.alone_keeps(pair, asks):
            return False
        if planned_rps > pair.decode * self.answers_rps(asks, end):
            return False
        if end == "slow" and not self.is_enough(pair, planned_rps, asks):
            return False
        return _is_kept(planned_rps, self.halving(pair, asks, end))

    def prompts_enough(self, prefill: int, planned_rps: float, asks: Asks, end: End = "likely") -> bool:
        """Whether the load is at most the rate up to which the prompts alone leave it open, however many answer.

        By the cell of as many for answers as have the same work to do, and the fastest links that there are.
        """
        link, most = self.link(Pair(prefill, 1)), self.most(asks, end)
        top, busiest = self.worked_off_rps("prompts"), FULLEST * self.worked_off_rps("prompts", end)
        cell = self.cell(Pair(prefill, math.ceil(prefill * top / self.worked_off_rps("answers"))))
        kept = halved(top, lambda each: each <= busiest and self._prompts_keep(_rounded(each), cell, link, most, end))
        return _is_kept(planned_rps / prefill, kept)

    def fewest(self, planned_rps: float, most: int, asks: Asks, end: End = "likely") -> Pair | None:
        """The pair of the fewest replicas that are enough; None where that is more than `most`."""
        return fewest(self, planned_rps, most, asks, end)

    def may(self, asks: Asks, end: End = "likely") -> bool:
        """Whether the smallest fleet, whose links are the fastest, keeps what is asked when it is next to idle."""
        one = Pair(1, 1)
        return self.saturated_rps(one) > 0 and self.keeps(self.idle_rps(one), one, asks, end)

    def idle_rps(self, pair: Pair) -> float:
        """A rate at which hardly any two requests meet."""
        return _IDLE * self.saturated_rps(pair)


def _each(requests_per_s: float, pair: Pair) -> float:
    """Of a replica for prompts."""
    return _rounded(requests_per_s / pair.prefill)


def _rounded(requests_per_s: float) -> float:
    return float(f"{requests_per_s:.{_DIGITS}g}")


def _is_kept(planned_rps: float, halving: Iterable[tuple[float, float]]) -> bool:
    """Whether it is at most the highest rate that halving comes to."""
    kept = 0.0
    for kept, broken in halving:
        if planned_rps <= kept or planned_rps >= broken:
            break
    return planned_rps <= kept
