"""The files that the page links to, under names that change with their content, so that browsers may keep them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import Response

_STATIC = Path(__file__).with_name("static")
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


def serve_assets(app: FastAPI) -> None:
    @app.get("/_bide/{name}", include_in_schema=False)
    def _file(name: str) -> Response:
        from bide.web.page.bundle import bundle_name, chart_bundle

        if name == bundle_name():
            return Response(chart_bundle(), media_type="text/javascript", headers=_FOR_EVER)
        if name == style_name():
            return Response(style(), media_type="text/css", headers=_FOR_EVER)
        if name == early_name():
            return Response((_STATIC / "early.js").read_bytes(), media_type="text/javascript", headers=_FOR_EVER)
        return Response(status_code=404)


@cache
def style() -> str:
    """The page's style sheet, in the report's colours."""
    from bide.report.themed import palettes

    light, dark = (";".join(f"{name}:{colour}" for name, colour in colours.items()) for colours in palettes())
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f":root[data-theme=dark]{{color-scheme:dark;{dark}}}\n" + (_STATIC / "page.css").read_text(encoding="utf-8")
    )


def style_name() -> str:
    return f"page-{_digest(style().encode())}.css"


@cache
def early_name() -> str:
    return f"early-{_digest((_STATIC / 'early.js').read_bytes())}.js"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
