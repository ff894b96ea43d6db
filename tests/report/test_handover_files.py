"""Files are written into a folder a fleet, bide's own are replaced, others never touched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bide.errors import BadInput, CannotBeMet
from bide.report.handover import writing
from bide.report.handover.files import KUBERNETES, SERVE, STACK, Handover, handed
from bide.report.handover.writing import write_handover
from made_units import unit

PLAN: Any = SimpleNamespace()


@pytest.fixture
def fleets(monkeypatch: pytest.MonkeyPatch) -> list[Handover]:
    """What the plan hands over, instead of a search."""
    found = [handed(unit(name="chat")), handed(unit(name="documents", scaled=False))]
    monkeypatch.setattr(writing, "handover", lambda _plan: found)
    return found


def test_each_fleet_has_a_folder(fleets: list[Handover], tmp_path: Path) -> None:
    paths = write_handover(PLAN, tmp_path / "new" / "manifests")
    assert len(paths) == 6 + 4
    assert (tmp_path / "new/manifests/chat" / KUBERNETES).read_text("utf-8") == fleets[0].files[KUBERNETES]
    assert {path.parent.name for path in paths} == {"chat", "documents"}
    assert os.access(tmp_path / "new/manifests/chat" / SERVE, os.X_OK)


@pytest.mark.usefixtures("fleets")
def test_bides_own_files_are_replaced_and_others_stop_everything(tmp_path: Path) -> None:
    for path in write_handover(PLAN, tmp_path):
        path.write_text("\n".join(path.read_text("utf-8").splitlines()[:2]), encoding="utf-8")
    write_handover(PLAN, tmp_path)
    assert "exec vllm serve" in (tmp_path / "chat" / SERVE).read_text("utf-8")
    (tmp_path / "documents" / STACK).write_text("mine: true\n", encoding="utf-8")
    (tmp_path / "chat" / SERVE).write_text("#!/bin/sh\n# Written by bide\n", encoding="utf-8")
    with pytest.raises(BadInput, match=STACK):
        write_handover(PLAN, tmp_path)
    assert (tmp_path / "documents" / STACK).read_text("utf-8") == "mine: true\n"
    assert "exec" not in (tmp_path / "chat" / SERVE).read_text("utf-8")


@pytest.mark.usefixtures("fleets")
def test_a_link_or_a_file_in_the_way_stops_everything(tmp_path: Path) -> None:
    (tmp_path / "chat").mkdir()
    (tmp_path / "chat" / SERVE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadInput, match=SERVE):
        write_handover(PLAN, tmp_path)
    (tmp_path / "a-file").write_text("", encoding="utf-8")
    with pytest.raises(BadInput, match="a folder"):
        write_handover(PLAN, tmp_path / "a-file" / "below")
    assert not (tmp_path / "elsewhere").exists()


def test_a_plan_without_a_fleet_has_nothing_to_hand_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(writing, "handover", lambda _plan: [])
    with pytest.raises(CannotBeMet):
        write_handover(PLAN, tmp_path)


def test_the_script_becomes_the_planned_command(tmp_path: Path) -> None:
    """Run with a `vllm` of our own that prints its arguments, a line each."""
    found = unit(weights="awq", kv_dtype="fp8", tp=2)
    (tmp_path / SERVE).write_text(handed(found).files[SERVE], encoding="utf-8")
    (tmp_path / "vllm").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    (tmp_path / "vllm").chmod(0o755)
    ran = subprocess.run(
        ["/bin/sh", str(tmp_path / SERVE), "--port", "9000"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == [*found.command.argv[1:], "--port", "9000"]
