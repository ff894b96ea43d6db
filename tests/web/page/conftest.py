"""One server for the page's tests, one browser a file; a tab that tells of errors and of requests to elsewhere."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from web_page import Watched

_SERVER = """
import sys, uvicorn
from bide.web.app import create_app
from bide.web.settings import Settings
uvicorn.run(create_app(Settings(port=int(sys.argv[1]))), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
"""
_BROWSER_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_START_S = 90.0
_PATIENCE_MS = 20_000
"""That a test waits for what should be there in 150 ms: the machine may be busy with others."""


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own process on a free port of the loopback; or the one at BIDE_PAGE_URL."""
    if "BIDE_PAGE_URL" in os.environ:
        yield os.environ["BIDE_PAGE_URL"]
        return
    port = _free_port()
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-c", _SERVER, str(port)], stdout=out, stderr=out)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, process, log)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=20)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, as the system has it. Not for the whole session: Playwright's event loop runs as long as it lives."""
    path = os.environ.get("BIDE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path and os.environ.get("CI"):
        pytest.fail("CI has no Chromium: tools/test_needs.sh installs it")
    if not path:
        pytest.skip("needs the Debian package chromium, or its path in BIDE_CHROMIUM")
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=_BROWSER_ARGS)
        yield chromium
        chromium.close()


@pytest.fixture
def watched(browser: Browser, server_url: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A fresh tab, 1280 px wide; `pytest.mark.parametrize("watched", [{...}], indirect=True)` sets a context's options.

    Fails where the console told of an error or a request left the loopback.
    """
    options = {"viewport": {"width": 1280, "height": 900}, "locale": "en-US", **getattr(request, "param", {})}
    context = browser.new_context(**options)
    try:
        tab = Watched(context.new_page(), server_url)
        yield tab
        assert tab.errors == []
        assert tab.elsewhere == []
    finally:
        context.close()


@pytest.fixture(scope="session")
def axe_source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's script: from BIDE_AXE, a folder with node_modules, or else installed by npm for this run."""
    folder = Path(os.environ.get("BIDE_AXE") or tmp_path_factory.mktemp("axe"))
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), "axe-core@4"], check=True, timeout=120)
    return script.read_text(encoding="utf-8")
