"""A server in this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from bide.web.app import create_app
from web_client import HERE, SETTINGS, Serve


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """Of a server as it starts by default, without its page."""
    with TestClient(create_app(SETTINGS, with_page=False), base_url=HERE) as made:
        yield made


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server with settings of its own."""
    started: list[TestClient] = []

    def start(base_url: str = HERE, **changes: Any) -> TestClient:
        app = create_app(replace(SETTINGS, **changes), with_page=False)
        made = TestClient(app, base_url=base_url, raise_server_exceptions=False, follow_redirects=False)
        started.append(made.__enter__())
        return made

    yield start
    for made in started:
        made.__exit__(None, None, None)
