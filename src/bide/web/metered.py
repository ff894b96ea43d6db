"""Bodies that are bounded while they come: in their size, whatever their length says, and in how long they take."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from bide.i18n import _
from bide.web import faults
from bide.web.headers import header

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_GRACE_S = 20.0
"""That the slowest body may be late."""


class Metered:
    """An application that is sent at most so many bytes, and at least so many a second.

    Beyond, the client is told so (413, 408), whatever the application would answer.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, least_bytes_per_s: float, grace_s: float = _GRACE_S) -> None:
        self._app, self._most_bytes = app, most_bytes
        self._least_bytes_per_s, self._grace_s = least_bytes_per_s, grace_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = header(scope, b"content-length")
        if length.isdecimal() and (len(length) > 15 or int(length) > self._most_bytes):
            await _refuse(self._too_large(), scope, receive, send)
            return
        body, begun = _Body(self, receive), False

        async def watched(message: Message) -> None:
            nonlocal begun
            if body.wrong is None or begun:
                begun = True
                await send(message)  # else whatever it makes of the error: ours is sent below

        with contextlib.suppress(faults.TooLarge, faults.TooSlow):
            await self._app(scope, body, watched)
        if body.wrong is not None and not begun:
            await _refuse(body.wrong, scope, receive, send)

    def deadline_s(self, begun_s: float, read_bytes: int) -> float:
        """When the next piece has to be there."""
        return begun_s + self._grace_s + read_bytes / self._least_bytes_per_s

    def check(self, read_bytes: int) -> None:
        """Raises TooLarge."""
        if read_bytes > self._most_bytes:
            raise self._too_large()

    def _too_large(self) -> faults.TooLarge:
        return faults.TooLarge("body", None, _("at most {n:,} bytes are taken").format(n=self._most_bytes))


class _Body:
    """What the application receives; `wrong`: why it was told to stop."""

    def __init__(self, limits: Metered, receive: Receive) -> None:
        self._limits, self._receive = limits, receive
        self._begun_s = asyncio.get_running_loop().time()
        self._read_bytes, self._ended = 0, False
        self.wrong: faults.TooLarge | faults.TooSlow | None = None

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()  # which tells that the client has left
        try:
            return await self._next()
        except (faults.TooLarge, faults.TooSlow) as error:
            self.wrong = error
            raise

    async def _next(self) -> Message:
        try:
            async with asyncio.timeout_at(self._limits.deadline_s(self._begun_s, self._read_bytes)):
                message = await self._receive()
        except TimeoutError:
            raise faults.TooSlow(_("the body comes too slowly")) from None
        self._read_bytes += len(message.get("body", b""))
        self._ended = not message.get("more_body", False)
        self._limits.check(self._read_bytes)
        return message


async def _refuse(why: faults.TooLarge | faults.TooSlow, scope: Scope, receive: Receive, send: Send) -> None:
    headers = {"connection": "close"} if isinstance(why, faults.TooSlow) else {}
    await faults.answer(faults.status_of(why), faults.fault_dict(why), headers)(scope, receive, send)
