"""Plays an agenda: sends each request when it is due, and hands on what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from bide.bench.agenda import Agenda
from bide.bench.client import Client
from bide.bench.clock import Alarm, now_ns
from bide.bench.exchange import Exchange
from bide.bench.health import Watch

STALL_NS = 50_000_000
"""A planned request that is taken up later than this finds a client that stood still."""
Make = Callable[[int], tuple[bytes, int, int]]


class Player:
    """One cell on one loop. Nothing here waits for an answer before it sends what is due."""

    def __init__(self, client: Client, agenda: Agenda, make: Make, record: Callable[[Exchange], None]) -> None:
        self._client, self._agenda, self._make, self._record = client, agenda, make, record
        self._ready: dict[int, tuple[bytes, int, int]] = {}
        self._alarm = Alarm(self._ring)
        self._ended = asyncio.get_running_loop().create_future()
        self._waiting = 0
        self._watch = Watch()
        client.done = self._done
        self._prepare()

    async def play(self) -> Watch:
        """Until everything has been sent and answered; how the client was meanwhile."""
        self._watch.begin()
        self._ring()
        await self._ended
        self._alarm.close()
        self._client.pump.drain()
        return self._watch

    def stop(self) -> None:
        """Send nothing more and give up what is in flight."""
        self._agenda.stop()
        self._client.cancel()
        self._look_for_the_end()

    def _ring(self) -> None:
        agenda = self._agenda
        while (due := agenda.due_ns()) is not None and due <= now_ns():
            late_ns = now_ns() - due
            if late_ns > STALL_NS and agenda.shift(late_ns):
                self._watch.stalls += 1
                self._watch.shifted_ns += late_ns
                continue
            self._send()
        if due is not None:
            self._alarm.at(due)
        self._look_for_the_end()

    def _send(self) -> None:
        found = self._agenda.pop()
        if found is None:
            return
        number, due_ns = found
        message, prompt, output = self._ready.pop(number) if number in self._ready else self._make(number)
        exchange = Exchange(number, due_ns, message, prompt, output)
        exchange.late_ns = max(0, now_ns() - due_ns)
        self._waiting += 1
        self._client.submit(exchange)
        if len(self._ready) < 8:
            self._client.pump.add(self._prepare)

    def _prepare(self) -> None:
        """Serialise what may be due soon."""
        for number in self._agenda.ahead():
            if number not in self._ready:
                self._ready[number] = self._make(number)

    def _done(self, exchange: Exchange) -> None:
        self._waiting -= 1
        self._agenda.answered(exchange.number, exchange.end_ns)
        self._client.pump.add(partial(self._record, exchange))
        self._ring()

    def _look_for_the_end(self) -> None:
        if not self._waiting and self._agenda.due_ns() is None and not self._ended.done():
            self._ended.set_result(None)
