"""Reports that jobs left, shown in the browser: in a sandbox, without scripts, so that they reach nothing here."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Path
from fastapi.responses import HTMLResponse

from bide.errors import BideError
from bide.web.shapes import ID

_ALONE = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox allow-popups; "
    "frame-ancestors 'none'"
)


def serve_reports(app: FastAPI) -> None:
    """`/reports/{job}`: the HTML report of a job."""

    @app.get("/reports/{number}", include_in_schema=False)
    async def report(number: Annotated[str, Path(pattern=ID)]) -> HTMLResponse:
        state: Any = app.state.bide
        try:
            found = state.jobs.get(number).files.get("report.html")
        except BideError as error:
            return HTMLResponse(str(error), status_code=404)
        if found is None:
            return HTMLResponse("", status_code=404)
        return HTMLResponse(found.read_text(encoding="utf-8"), headers={"content-security-policy": _ALONE})
