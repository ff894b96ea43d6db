"""Who gets a request: the policies of load balancers in front of inference engines.

`prefix` follows the cache-aware routers of SGLang and llm-d: the engine that has seen most of the
prompt, unless it has far more to do than the least loaded one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from bide.simulate.fleet.rules import RouterName
from bide.simulate.scheduler.requests import Requests

if TYPE_CHECKING:
    import numpy as np

    from bide.simulate.fleet.station import Station

_SEEN_SHARE = 0.5
"""Of the prompt's shared blocks: an engine that has seen less is chosen by load (SGLang router's cache_threshold)."""
_FEWEST_AHEAD, _TIMES_AHEAD = 32, 1.1
"""An engine this much busier than the idlest is not chosen for its cache: SGLang router's balance thresholds are
32 requests and 1.1 times."""


class Router(Protocol):
    """Chooses among the engines that are up; `looks` where their present state matters."""

    looks: bool

    def choose(self, request: int, stations: Sequence[Station], up: Sequence[int]) -> int: ...


class RoundRobin:
    looks = False

    def __init__(self) -> None:
        self._turn = 0

    def choose(self, request: int, stations: Sequence[Station], up: Sequence[int]) -> int:
        chosen = up[self._turn % len(up)]
        self._turn += 1
        return chosen


class Random:
    looks = False

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, request: int, stations: Sequence[Station], up: Sequence[int]) -> int:
        return up[int(self._rng.integers(len(up)))]


class LeastRequests:
    """Fewest requests running and waiting; the first of equals in turn."""

    looks = True

    def __init__(self) -> None:
        self._turn = 0

    def choose(self, request: int, stations: Sequence[Station], up: Sequence[int]) -> int:
        self._turn += 1
        start = self._turn % len(up)
        return min((*up[start:], *up[:start]), key=lambda engine: stations[engine].in_system)


class LeastKv:
    """Most free blocks, fewest waiting first."""

    looks = True

    def choose(self, request: int, stations: Sequence[Station], up: Sequence[int]) -> int:
        return min(up, key=lambda engine: (stations[engine].waiting, -stations[engine].free_blocks))


class TwoChoices:
    """The less loaded of two at random (Mitzenmacher 2001)."""

    looks = True

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, request: int, stations: Sequence[Station], up: Sequence[int]) -> int:
        if len(up) == 1:
            return up[0]
        one = int(self._rng.integers(len(up)))
        other = (one + 1 + int(self._rng.integers(len(up) - 1))) % len(up)
        return min((up[one], up[other]), key=lambda engine: stations[engine].in_system)


class PrefixAware:
    """Remembers which shared blocks each engine has had, the latest as many as its pool holds."""

    looks = True

    def __init__(self, requests: Requests, engines: int, most_blocks: int) -> None:
        self._starts, self._ids = requests.content_starts, requests.content_ids
        self._seen: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(engines)]
        self._most = most_blocks
        self._least = LeastRequests()

    def choose(self, request: int, stations: Sequence[Station], up: Sequence[int]) -> int:
        ids = self._ids[self._starts[request] : self._starts[request + 1]].tolist()
        chosen = self._by_cache(ids, stations, up)
        if chosen is None:
            chosen = self._least.choose(request, stations, up)
        self._remember(chosen, ids)
        return chosen

    def _by_cache(self, ids: list[int], stations: Sequence[Station], up: Sequence[int]) -> int | None:
        if not ids:
            return None
        known = {engine: self._known(engine, ids) for engine in up}
        best = max(up, key=lambda engine: (known[engine], -stations[engine].in_system))
        idlest = min(stations[engine].in_system for engine in up)
        load = stations[best].in_system
        overloaded = load > idlest + _FEWEST_AHEAD and load > idlest * _TIMES_AHEAD
        return best if known[best] >= _SEEN_SHARE * len(ids) and not overloaded else None

    def _known(self, engine: int, ids: list[int]) -> int:
        """Blocks of the prompt's beginning that the engine has had."""
        seen = self._seen[engine]
        return next((place for place, name in enumerate(ids) if name not in seen), len(ids))

    def _remember(self, engine: int, ids: list[int]) -> None:
        seen = self._seen[engine]
        for name in ids:
            seen[name] = None
            seen.move_to_end(name)
        while len(seen) > self._most:
            seen.popitem(last=False)


def router_of(name: RouterName, requests: Requests, engines: int, most_blocks: int, seed: int) -> Router:
    """A router at the beginning of a run."""
    import numpy as np

    if name == "prefix":
        return PrefixAware(requests, engines, most_blocks)
    if name in ("random", "two-choices"):
        rng = np.random.default_rng(seed)
        return Random(rng) if name == "random" else TwoChoices(rng)
    if name == "round-robin":
        return RoundRobin()
    return LeastRequests() if name == "least-requests" else LeastKv()
