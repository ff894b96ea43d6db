"""Live answers: computed beside the event loop, the newest question first, older ones left out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from nicegui import background_tasks

from bide.i18n import speaking

Answer = TypeVar("Answer")
_APART_S = 0.05
"""Between two answers, from question to question: about what a browser takes to draw one."""
_REST_S = 0.02
"""From an answer to the rest of it, at least, and as long again as it took: what is seen first is drawn by itself."""


class Refresher(Generic[Answer]):
    """`ask()` as often as inputs move: `compute` runs in a thread, then `show` on the loop with what it gave.

    The first question is answered at once. One that comes while another is computed, or before its answer can have
    been drawn, waits; of several only one remains. So answers never come faster than a browser takes them.

    `rest` shows what of an answer can wait: once the last question has been answered, not while inputs move. `prepare`
    makes it, in a thread too.
    """

    def __init__(
        self,
        compute: Callable[[], Answer],
        show: Callable[[Answer], None],
        language: str,
        rest: Callable[[Answer], None] = lambda _answer: None,
        prepare: Callable[[Answer], None] = lambda _answer: None,
    ) -> None:
        self._compute, self._show, self._language = compute, show, language
        self._rest, self._prepare = rest, prepare
        self._asked, self._running = asyncio.Event(), False

    def now(self) -> None:
        """Compute and show at once, for a page that is being built."""
        with speaking(self._language):
            answer = self._compute()
            self._show(answer)
            self._rest(answer)

    def ask(self) -> None:
        self._asked.set()
        if not self._running:
            self._running = True
            background_tasks.create(self._answer(), name="bide live answer")

    async def _answer(self) -> None:
        try:
            while self._asked.is_set():
                self._asked.clear()
                began = time.monotonic()
                with speaking(self._language):
                    answer = await asyncio.to_thread(self._compute)
                    self._show(answer)
                    shown = time.monotonic()
                    await asyncio.sleep(max(0.0, began + _APART_S - shown))
                    if not await self._asked_by(shown + max(_REST_S, shown - began)):
                        await asyncio.to_thread(self._prepare, answer)
                        if not self._asked.is_set():
                            self._rest(answer)
        finally:
            self._running = False

    async def _asked_by(self, until: float) -> bool:
        """Whether another question comes until then, on the monotonic clock."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._asked.wait(), max(0.0, until - time.monotonic()))
        return self._asked.is_set()
