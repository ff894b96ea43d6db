"""Live answers: computed beside the event loop, the newest question first, older ones left out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from nicegui import background_tasks

from bide.i18n import speaking

Answer = TypeVar("Answer")
_APART_S = 0.05
"""Between two answers, from question to question: about what a browser takes to draw one."""


class Refresher(Generic[Answer]):
    """`ask()` as often as inputs move: `compute` runs in a thread, then `show` on the loop with what it gave.

    The first question is answered at once. One that comes while another is computed, or before its answer can have
    been drawn, waits; of several only one remains. So answers never come faster than a browser takes them.
    """

    def __init__(self, compute: Callable[[], Answer], show: Callable[[Answer], None], language: str) -> None:
        self._compute, self._show, self._language = compute, show, language
        self._asked = self._running = False

    def now(self) -> None:
        """Compute and show at once, for a page that is being built."""
        with speaking(self._language):
            self._show(self._compute())

    def ask(self) -> None:
        self._asked = True
        if not self._running:
            self._running = True
            background_tasks.create(self._answer(), name="bide live answer")

    async def _answer(self) -> None:
        try:
            while self._asked:
                self._asked = False
                began = time.monotonic()
                with speaking(self._language):
                    self._show(await asyncio.to_thread(self._compute))
                await asyncio.sleep(max(0.0, _APART_S - (time.monotonic() - began)))
        finally:
            self._running = False
