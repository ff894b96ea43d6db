"""A server for as long as the process lives."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.i18n import _

if TYPE_CHECKING:
    from collections.abc import Callable

    import uvicorn
    from starlette.types import ASGIApp

    from bide.web.settings import Settings

_BACKLOG = 128
_GOODBYE_S = 5
"""That open connections are given when the server ends."""


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve until interrupted; `ready` is called with the address once clients are answered.

    Raises BadInput where the address cannot be listened on, and for settings that would let anybody in.
    """
    import uvicorn

    from bide.web.app import create_app
    from bide.web.sparse_log import log_sparsely

    settings.check()
    listening = _listening(settings)
    log_sparsely()
    server = uvicorn.Server(configured(create_app(settings), settings))
    try:
        asyncio.run(_served(server, listening, ready, address_of(listening, settings)))
    finally:
        listening.close()


def configured(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """How uvicorn is to serve `app`."""
    import uvicorn

    from bide.web.connections import http_protocol

    proxies = (*settings.proxies, *filter(None, map(_mapped, settings.proxies)))
    return uvicorn.Config(
        app,
        http=http_protocol(proxies=proxies),
        log_config=None,  # see `sparse_log`
        log_level="warning",
        access_log=False,  # a token may stand in an address
        server_header=False,
        proxy_headers=bool(proxies),  # else whoever connects could claim to be anybody
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=_GOODBYE_S,
        timeout_keep_alive=30,
        ws_max_size=2**20,
    )


def _mapped(proxy: str) -> str:
    """What a server that listens on `::` calls those of an IPv4 network; empty for one of IPv6."""
    network = ipaddress.ip_network(proxy)
    return f"::ffff:{network.network_address}/{96 + network.prefixlen}" if network.version == 4 else ""


async def _served(server: object, listening: socket.socket, ready: Callable[[str], None], address: str) -> None:
    import uvicorn

    assert isinstance(server, uvicorn.Server)
    serving = asyncio.create_task(server.serve([listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        ready(address)
    await serving


def _listening(settings: Settings) -> socket.socket:
    """Bound before anything is imported that takes long: a port that is taken is said at once."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.socket(found[0], found[1])
        try:
            _bind(made, found[4])
        except BaseException:
            made.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        allowed = _("an address of this machine and a free port")
        why = getattr(error, "strerror", None) or str(error)
        raise BadInput("port", f"{settings.host}:{settings.port}", allowed, f"{why}; --port") from error
    return made


def _bind(made: socket.socket, address: Any) -> None:
    if sys.platform != "win32":
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(address)
    made.listen(_BACKLOG)


def address_of(listening: socket.socket, settings: Settings) -> str:
    """Where a browser on this machine finds it; the port is the one that the system chose where 0 was asked for."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "localhost"
    shown = f"[{host}]" if ":" in host else settings.host if settings.loopback else host
    return f"http://{shown}:{port}/"
