"""What README promises is what CI runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def set_up_commands() -> list[str]:
    """The two lines under README's "Set up" heading."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Set up")[1].split("\n## ")[0]
    return [line for block in re.findall(r"```sh\n(.*?)```", section, flags=re.S) for line in block.splitlines()]


def test_two_commands_do_all_the_set_up(set_up_commands: list[str]) -> None:
    assert len(set_up_commands) == 2
    assert "bide plan examples/two-services.yaml" in set_up_commands[0]


def test_ci_ends_with_the_second_command(set_up_commands: list[str]) -> None:
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == set_up_commands[1]


def test_the_project_has_its_licence_whole() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_readme_shows_what_the_command_really_prints() -> None:
    # `python tools/refresh_readme.py` brings README up to date.
    script = ROOT / "tools" / "refresh_readme.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
