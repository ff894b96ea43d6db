"""A plan from the benchmark files of one replica, asked on the page: what `bide plan` answers to the same files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from bide.cli.main import main
from bide.web import tasks
from bide.web.page import tab_plan
from bide.web.page.plan_question import file_text, plan_ask
from bide.web.page.state import State
from bide.web.staging import replaced
from made_measured import LEVELS, table
from web_page import Watched

SHORT = {"prompt_p50": "299", "prompt_p95": "301", "output_p50": "19", "output_p95": "21", "max_gpus": "8"}
"""Requests, near to those of the benchmarks."""
PANEL = "#panel-plan"
PLAN_MS = 60_000


def results(folder: Path) -> dict[str, str]:
    """Benchmarks at 2, 4 and 8 requests a second, by the number of an upload each."""
    made = [table(folder / f"at-{rate:g}.csv", rate, *times, 300, 20) for rate, times in LEVELS.items()]
    return {f"{name[:-4]:-<22}": name for name in made}


def compared(plan: dict[str, Any]) -> dict[str, Any]:
    """As JSON, without the time that it took, and the question: `./at-2.csv` is at-2.csv there."""
    found: dict[str, Any] = json.loads(json.dumps(plan))
    del found["question"]
    for service in found["services"]:
        del service["tried"]["seconds"]
    return found


@pytest.mark.parametrize(
    "more",
    [
        {"plan_gpus": "h100-sxm", "patience": "1"},
        {"plan_gpus": "h100-sxm", "patience": "2", "measured_as": "tp: 2", "margin": "1", "peak_rps": "20"},
    ],
)
def test_the_answer_is_that_of_bide_plan_to_the_file_of_the_form(
    more: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names, state = results(tmp_path), State(tab_plan.KEYS)
    for key, text in {**SHORT, "measured": ",".join(names), **more}.items():
        state.set(key, text)
        assert state.error(key) == ""
    form = state.frozen()
    asked = replaced({**plan_ask(form), "files": []}, lambda _kind, number: Path(names[number]))
    Path("out").mkdir()
    told = tasks.done("plan", asked, False, lambda *_said: None, Path("out"))
    Path("service.yaml").write_text(file_text(form, names))
    capsys.readouterr()
    assert main(["plan", "service.yaml", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert compared(told) == compared(printed)
    assert printed["services"][0]["chosen"]["measured"]["results"] == list(names.values())


@pytest.mark.system
def test_benchmarks_are_asked_for_dropped_marked_and_planned_from(watched: Watched, tmp_path: Path) -> None:
    """A service file names two; one is dropped, and one of other requests, whose error stands at the field."""
    names = list(results(tmp_path).values())
    other = table(tmp_path / "other.csv", 3.0, 0.2, 0.01, 3000, 20)
    address = "&".join(f"{key}={text}" for key, text in SHORT.items())
    page = watched.open(f"?tab=plan&plan_gpus=h100-sxm&patience=1&{address}", charts=0)
    form, answer = page.locator(f"{PANEL} .form"), page.locator(f"{PANEL} .hero")
    form.locator("summary").filter(has_text="As a file").click()
    text = page.locator("#form-file").text_content() or ""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    given = "\n".join(lines).replace("  patience:", f"  measured: [runs/{names[0]}, {names[1]}]\n  patience:")
    page.locator("#pasted-file").fill(given)
    page.get_by_role("button", name="Open it in the form").click()
    waiting = form.locator(".awaited li")
    expect(waiting).to_have_text([f"runs/{names[0]}×", f"{names[1]}×"])
    expect(page).to_have_url(re.compile("measured_awaited"))
    page.reload()
    expect(page.locator("#form-file")).to_contain_text(f"runs/{names[0]}")
    plan = form.get_by_role("button", name="Plan", exact=True)
    plan.click()
    expect(answer).to_contain_text(f"the service file names (runs/{names[0]} and {names[1]}): drop them")
    page.locator("#measured-file").set_input_files([tmp_path / names[0], tmp_path / other])
    expect(form.locator(".files:not(.awaited) li")).to_have_count(2)
    expect(page.locator("#measured-wrong")).to_have_count(0)
    form.get_by_role("button", name=f"Remove {names[1]}").click()
    expect(waiting).to_have_count(0)
    plan.click()
    expect(page.locator("#measured-wrong")).to_contain_text("results with the workload's lengths", timeout=PLAN_MS)
    answer.get_by_role("link", name="Show the field").click()
    expect(page.locator("#measured-file")).to_be_focused()
    form.get_by_role("button", name="Remove other.csv").press("Enter")
    plan.click()
    expect(answer.locator("h2")).to_contain_text("Run 8 x h100-sxm", timeout=PLAN_MS)  # 10 x 1.5 / 2 a replica
    expect(page.locator("#form-file")).to_contain_text(f"# Beside this file: {names[0]}, a benchmark that was dropped")
