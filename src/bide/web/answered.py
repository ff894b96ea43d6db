"""Answers that take milliseconds: worked out in a few threads, once for all who ask the same, and kept."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bide.i18n import language

if TYPE_CHECKING:
    from bide.web.asks import Shape
    from bide.web.state import State

Make = Callable[["Shape", "State"], dict[str, Any]]
_THREADS = 2
"""Python runs one at a time: more would only make each slower, and the event loop wait."""


class Answered:
    """The answers of one server. For one event loop."""

    def __init__(self, state: State, most: int) -> None:
        self._state, self._most = state, most
        self._kept: OrderedDict[tuple[str, str, str], bytes] = OrderedDict()
        self._going: dict[tuple[str, str, str], asyncio.Future[bytes]] = {}
        self._pool = ThreadPoolExecutor(_THREADS, "answer")

    async def json(self, make: Make, ask: Shape) -> bytes:
        """What `make` says of `ask`, as JSON, in the language of the caller. Raises what `make` raises."""
        key = (make.__name__, language(), ask.model_dump_json(exclude_unset=True))
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        if key not in self._going:
            self._going[key] = asyncio.ensure_future(self.run(_encoded, make, ask, self._state))
            self._going[key].add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(self._going[key])

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """`function` in a thread, in the language of the caller."""
        within = contextvars.copy_context().run
        return await asyncio.get_running_loop().run_in_executor(self._pool, within, function, *args)

    def _keep(self, key: tuple[str, str, str], done: asyncio.Future[bytes]) -> None:
        del self._going[key]
        if done.cancelled() or done.exception() is not None:
            return
        self._kept[key] = done.result()
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _encoded(make: Make, ask: Shape, state: State) -> bytes:
    return json.dumps(make(ask, state), allow_nan=False).encode()
