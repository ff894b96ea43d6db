"""The files that a job leaves beside its result, and the workloads it reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bide.errors import BadInput
from bide.i18n import _
from bide.web.names import FILE

_DESCRIPTIONS = (".yaml", ".yml")


def write_files(wanted: Iterable[str], makers: Mapping[str, Callable[[], str | bytes]], out: Path) -> None:
    """`report.<suffix>` for each suffix that is wanted."""
    for suffix in wanted:
        if suffix in makers:
            made = makers[suffix]()
            (out / f"report.{suffix}").write_bytes(made.encode() if isinstance(made, str) else made)


def write_view(shown: Mapping[str, Any], out: Path) -> None:
    """`view.json`: what a page shows of the answer."""
    (out / "view.json").write_text(json.dumps(shown, allow_nan=False), encoding="utf-8")


def workload_file(given: Mapping[str, Any], field: str = "workload") -> Path:
    """The file of a workload: an upload, a sample, or one written from the description in the request."""
    if FILE in given:
        path = Path(given[FILE])
        if path.suffix.lower() in _DESCRIPTIONS:
            check_description(path, field)
        return path
    import yaml

    content = {key: value[FILE] if _is_file(value) else value for key, value in given.items()}
    if isinstance(given.get("trace"), str):
        raise BadInput(f"{field}.trace", given["trace"], upload_form())
    path = Path("workload.yaml")
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def check_description(path: Path, field: str) -> None:
    """Raise BadInput for a file that names further files: what it says of them is the client's disk, not ours."""
    from bide.located import Located, read_yaml

    def look(item: Located) -> None:
        value = item.value
        for key, each in value.items() if isinstance(value, dict) else ():
            if key in ("trace", "file", "model") and isinstance(each.value, str):
                allowed = _("a description that names no further file")
                raise BadInput(field, f"{key}: {each.value}"[:120], allowed, upload_form())
            look(each)
        for each in value if isinstance(value, list) else ():
            look(each)

    look(read_yaml(path, field))


def upload_form() -> str:
    """How a request names a file."""
    return _("an upload or a sample: {forms}").format(forms='{"upload": id}, {"sample": name}')


def _is_file(value: object) -> bool:
    return isinstance(value, Mapping) and FILE in value
