"""One server, one browser and mostly one tab for the page's tests; it tells of errors and of requests to elsewhere."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from web_page import NORMAL, Watched

_SERVER = """
import sys, uvicorn
from bide.web.app import create_app
from bide.web.settings import Settings
settings = Settings(port=int(sys.argv[1]), spare=False)
uvicorn.run(create_app(settings), host=settings.host, port=settings.port, log_level="warning")
"""
"""Most jobs here are small: to load for each what a plan needs would take longer than they do."""
_BROWSER_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_START_S = 90.0
_PATIENCE_MS = 20_000
"""That a test waits for what should be there in 150 ms: the machine may be busy with others."""


@pytest.fixture(scope="package")
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


@pytest.fixture(scope="package")
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


@pytest.fixture(autouse=True)
def a_loop_of_its_own(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests without the browser may run one, though Playwright's counts as running as long as the browser lives."""
    if "browser" in request.fixturenames:
        yield
        return
    playwrights = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(playwrights)


@contextmanager
def _visitor(browser: Browser, url: str, **options: Any) -> Iterator[Watched]:
    context = browser.new_context(**{"viewport": NORMAL, "locale": "en-US", **options})
    try:
        yield Watched(context.new_page(), url)
    finally:
        context.close()


@pytest.fixture(scope="package")
def tab(browser: Browser, server_url: str) -> Iterator[Watched]:
    """Of somebody who has been here before: what the page loads is in the browser's cache, and compiled."""
    with _visitor(browser, server_url) as visitor:
        yield visitor


@pytest.fixture
def watched(tab: Watched, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """The tab that tests share, 1280 px wide and light, or with the `viewport` and `color_scheme` of the parameter.

    Fails where the console told of an error or a request left the loopback.
    """
    tab.look(**getattr(request, "param", {}))
    tab.forget()
    yield tab
    tab.check()


@pytest.fixture
def newcomer(browser: Browser, server_url: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A tab of a browser that was never here; the parameter gives options of its context. Fails as `watched` does."""
    with _visitor(browser, server_url, **getattr(request, "param", {})) as visitor:
        yield visitor
        visitor.check()


@pytest.fixture(scope="session")
def axe_source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """axe-core's script: from BIDE_AXE, a folder with node_modules, or else installed by npm for this run."""
    folder = Path(os.environ.get("BIDE_AXE") or tmp_path_factory.mktemp("axe"))
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        subprocess.run(["npm", "install", "--silent", "--prefix", str(folder), "axe-core@4"], check=True, timeout=120)
    return script.read_text(encoding="utf-8")
