"""How the tests of the API speak to a server in this process, and to the command line beside it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

from starlette.testclient import TestClient

from bide.cli.main import main
from bide.web.settings import Limits, Settings

HERE = "http://127.0.0.1:8321"
SETTINGS = Settings(spare=False, limits=replace(Limits(), jobs_at_once=1, jobs_waiting=2, job_s=120.0))
LLAMA = {"model": "llama-3.1-8b", "gpu": "h100-sxm"}

Serve = Callable[..., TestClient]


def cli(*args: str) -> dict[str, Any]:
    """What a command prints with --json."""
    out = io.StringIO()
    with redirect_stdout(out):
        main([*args, "--json"])
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def upload(client: TestClient, content: bytes, name: str = "file") -> dict[str, str]:
    """A file, as requests name it."""
    answer = client.post("/api/v1/uploads", files={"file": (name, content)})
    assert answer.status_code == 201, answer.text
    return {"upload": answer.json()["upload"]}


def fault(answer: Any, status: int = 422) -> dict[str, Any]:
    """The error of an answer, which is whole and says nothing of the server's inside."""
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()["error"]
    assert set(found) == {"field", "given", "allowed", "hint", "message"}
    assert "Traceback" not in answer.text
    assert "/bide-" not in answer.text
    return found
