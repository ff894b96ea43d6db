"""Putting the files of a plan into a folder, without losing anybody's own."""

from __future__ import annotations

from pathlib import Path

from bide.errors import BadInput, CannotBeMet
from bide.i18n import _
from bide.plan.answer import Plan
from bide.report.handover.comments import MARK
from bide.report.handover.files import handover

FIELD = "--manifests"
_SCRIPT_MODE = 0o755


def write_handover(plan: Plan, folder: Path) -> list[Path]:
    """Write each fleet's files into a folder of its own under `folder`; the paths, in order.

    Files that bide wrote before are replaced. Raises BadInput, before anything is written, where another file stands
    in the way or the folder cannot be written; CannotBeMet where no service has a fleet.
    """
    texts = {folder / each.name / name: text for each in handover(plan) for name, text in each.files.items()}
    if not texts:
        raise CannotBeMet(_("no service has a fleet to hand over"))
    for path in texts:
        _check(path)
    try:
        for path, text in texts.items():
            _write(path, text)
    except OSError as error:
        raise BadInput(FIELD, str(folder), _("a folder that can be written"), error.strerror or str(error)) from error
    return list(texts)


def _check(path: Path) -> None:
    """Raise BadInput where `path` is not bide's to write."""
    if path.is_symlink() or (path.exists() and not (path.is_file() and _ours(path))):
        hint = _("move it away, or name another folder")
        raise BadInput(FIELD, str(path), _("a path with no file of yours"), hint)
    for parent in path.parents:
        if parent.exists() and not parent.is_dir():
            raise BadInput(FIELD, str(parent), _("a folder"))


def _ours(path: Path) -> bool:
    """Whether one of the first two lines is bide's mark."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return any(file.readline().rstrip("\n") == MARK for _line in range(2))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if path.suffix == ".sh":
        path.chmod(_SCRIPT_MODE)
