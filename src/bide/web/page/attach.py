"""Puts the page into the server's application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request

from bide.web.settings import Settings

CSP = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'"
)
"""The policy that the page needs: no eval, nothing from elsewhere. `{scripts}`: the nonce of its inline scripts."""
_RECONNECT_S = 60.0
"""That the server keeps a page whose connection broke; until then it goes on where it was."""
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1c6ea4"/>'
    '<path d="M8 24V8M8 24h16" stroke="#fff" stroke-width="2.4" fill="none"/>'
    '<path d="M10 21c6-1 8-4 9-12" stroke="#f0b27a" stroke-width="2.8" fill="none"/></svg>'
)


def attach(app: FastAPI, settings: Settings) -> None:
    """Serve the page at `/`, beside the routes that `app` has. Once in a process."""
    from nicegui import app as nicegui_app
    from nicegui import ui

    from bide.web.page.assets import serve_assets
    from bide.web.page.compressed import Compressed
    from bide.web.page.reports import serve_reports
    from bide.web.page.shell import build_page

    serve_assets(app)
    serve_reports(app)
    _warm_at_start(app)

    @ui.page("/", title="bide")
    def _page(request: Request) -> None:
        build_page(request, settings, getattr(app.state, "bide", None))

    nicegui_app.config.quasar_config["loadingBar"] = {"skipHijack": True}  # else a bar without a name on every request
    ui.run_with(
        app,
        title="bide",
        favicon=_ICON,
        tailwind=False,
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=_RECONNECT_S,
        gzip_middleware_factory=None,  # it packs every file anew for every visitor
    )
    app.add_middleware(Compressed)


def _warm_at_start(app: FastAPI) -> None:
    """Load what the first page needs while the server starts; browsers' library and other languages come beside it."""
    before = app.router.lifespan_context

    @asynccontextmanager
    async def warm(app: FastAPI) -> AsyncIterator[Any]:
        import threading

        from bide.web.page.warm import warm_languages, warm_up

        warm_up()
        threading.Thread(target=warm_languages, daemon=True).start()
        async with before(app) as state:
            yield state

    app.router.lifespan_context = warm
