"""Requests that name uploads, samples and what jobs left: found, and put where the work is done."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bide.errors import BadInput
from bide.i18n import _
from bide.web.names import FILE

KINDS = ("upload", "sample", "job")
Find = Callable[[str, str], Path]
"""The file of a kind and a name. Raises BadInput or NotThere."""


def replaced(value: Any, find: Find, field: str = "") -> Any:
    """`value` with each `{"upload": id}`, `{"sample": name}` and `{"job": id}` as `{"$file": path}`.

    Raises BadInput for a request that names a file itself.
    """
    if isinstance(value, Mapping):
        if FILE in value:
            raise BadInput(field or "body", FILE, _("an upload, by {key}").format(key='{"upload": id}'))
        kind = next((kind for kind in KINDS if set(value) == {kind}), None)
        if kind is not None and isinstance(value[kind], str):
            return {FILE: str(find(kind, value[kind]))}
        return {key: replaced(each, find, f"{field}.{key}".lstrip(".")) for key, each in value.items()}
    if isinstance(value, list):
        return [replaced(each, find, f"{field}[{place}]") for place, each in enumerate(value)]
    return value


class Staged:
    """A folder that a job's files are put into, each under its own name."""

    def __init__(self, folder: Path, find: Find) -> None:
        self._folder, self._find = folder, find
        self._names: dict[tuple[str, str], Path] = {}

    def __call__(self, kind: str, name: str) -> Path:
        """The path within the folder; the same file is there once."""
        if (kind, name) not in self._names:
            source = self._find(kind, name)
            named = Path(self._free(source.name))
            _placed(source, self._folder / named)
            self._names[(kind, name)] = named
        return self._names[(kind, name)]

    def _free(self, name: str) -> str:
        taken = {path.name for path in self._names.values()}
        return name if name not in taken else f"{len(taken) + 1}-{name}"


def _placed(source: Path, target: Path) -> None:
    """A second name for the same content where the file system has that: nobody writes to either."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
