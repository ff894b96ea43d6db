"""The chart library for browsers: Vega-Lite and Vega as one file, from vl-convert, kept between runs."""

from __future__ import annotations

import os
import tempfile
import threading
from functools import cache
from pathlib import Path

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
_lock = threading.Lock()


@cache
def bundle_name() -> str:
    """Changes with the library, so that a browser may keep the file for ever."""
    from importlib.metadata import version

    return f"vega-{version('vl-convert-python')}.js"


@cache
def chart_bundle() -> bytes:
    """The file; made once in seconds, then read from the user's cache."""
    with _lock:
        kept = _cache_folder() / bundle_name()
        try:
            return kept.read_bytes()
        except OSError:
            made = _made()
            _keep(kept, made)
            return made


def _made() -> bytes:
    import vl_convert

    return str(vl_convert.javascript_bundle(_SNIPPET)).encode()


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bide"


def _keep(path: Path, content: bytes) -> None:
    """Write it whole or not at all; a folder that cannot be written only costs the next start its seconds."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    except OSError:
        return
