import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bide.plan.answer import Plan
from bide.plan.search import plan
from bide.plan.service_file import read_question
from bide.report.plan_explain import plan_explain
from bide.report.plan_html import plan_html
from bide.report.plan_markdown import plan_markdown
from bide.report.plan_text import plan_text
from made_profile import profile, write_profile


@pytest.fixture
def calibrated(tmp_path: Path) -> Path:
    return write_profile(tmp_path / "mine.json", profile(off=0.5))


@pytest.fixture
def met(write: Callable[..., Path], calibrated: Path) -> Plan:
    return plan(read_question(write()), profile=calibrated)


@pytest.fixture
def refused(write: Callable[..., Path], calibrated: Path) -> Plan:
    path = write(lambda content: content["services"][0]["patience"].update(ttft_p95="1ms"))
    return plan(read_question(path), profile=calibrated)


def rename(content: dict[str, Any]) -> None:
    content["services"][0]["name"] = "<b>chat</b> | *x*"


def test_the_answer_comes_first_with_its_cost_and_how_sure_it_is(met: Plan) -> None:
    first, second = plan_text(met).splitlines()[:2]
    gpus = met.gpus
    assert first.startswith(f"Run {gpus} x h100-sxm for chat; ${2.95 * gpus:.2f} an hour")
    assert "likely" in second
    assert "predictions of a model fitted to measured runs (profile by hand of 2026-01-02)" in plan_text(met, 1000)


def test_an_answer_that_holds_at_the_slow_end_says_so(write: Callable[..., Path], tmp_path: Path) -> None:
    exact = write_profile(tmp_path / "exact.json", profile(off=0.0))
    assert "enough at their slow end too" in plan_text(plan(read_question(write()), profile=exact), 1000)


def test_the_text_fits_its_width(met: Plan) -> None:
    folded = [line for line in plan_text(met, 80).splitlines() if "llama.json" not in line]
    assert max(map(len, folded)) <= 80


def test_everything_assumed_and_cited_is_listed(met: Plan) -> None:
    text = plan_text(met, 1000)
    steps = "step times = roofline with the profile by hand of 2026-01-02 (3 points; median error: 7%; it holds runs of"
    for words in (steps, "engine_version", "arrivals = Poisson"):
        assert words in text
    assert "bide plan service.yaml --profile mine.json" in plan_markdown(met)
    assert "h100-sxm, bandwidth: " in text
    assert "given in the service file" in text


def test_a_refusal_says_why_and_what_would_do(refused: Plan) -> None:
    text = plan_text(refused, 1000)
    assert text.startswith("Cannot be met with this hardware: chat.")
    assert "ttft_p95 is " in text
    assert "no number of GPUs cures that" in text
    assert "The least patience that it can keep is" in text
    assert "Cannot be met" in plan_html(refused)


def test_the_page_needs_nothing_from_elsewhere(met: Plan) -> None:
    page = plan_html(met)
    outside = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", page)
    assert [link for link in outside if not link.startswith("#")] == []
    assert "<script" not in page
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    } | set(re.findall(r"https?://[^\s\"'<]+", plan_text(met, 10_000)))


def test_the_page_has_its_charts_in_the_page_s_own_colours(met: Plan) -> None:
    page = plan_html(met)
    assert page.count("<svg") == 2 * 4  # memory, requests, TTFT, TPOT; wide and narrow
    assert not re.findall(r"#0[1-6]0\d0\d", page)
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", page))
    assert used <= set(re.findall(r"(--[a-z0-9-]+):", page))
    assert "prefers-color-scheme: dark" in page


def test_names_from_the_file_are_shown_and_never_run(write: Callable[..., Path]) -> None:
    found = plan(read_question(write(rename)))
    assert "<b>chat" not in plan_html(found)
    assert "&lt;b&gt;chat&lt;/b&gt;" in plan_html(found)
    assert "\\<b\\>chat" in plan_markdown(found)


def test_markdown_tables_have_as_many_cells_as_headers(met: Plan) -> None:
    table = [line for line in plan_markdown(met).splitlines() if line.startswith("| ")]
    assert table
    assert {len(re.split(r"(?<!\\)\|", line)) for line in table[:4]} == {len(re.split(r"(?<!\\)\|", table[0]))}


def test_the_explanation_multiplies_out(met: Plan) -> None:
    text = plan_explain(met)
    step = re.search(r"of ([\d.]+): ([\d.]+) ms fixed \+ ([\d.]+) ms weights \+ [\d.]+ x \((\d+) us .* (\d+) us", text)
    assert step
    running, fixed, weights, cache, other = map(float, step.groups())
    whole = re.search(r"else\) = ([\d.]+) ms", text)
    assert whole
    assert fixed + weights + running * (cache + other) / 1e3 == pytest.approx(float(whole[1]), rel=0.05)
    found = re.search(r"each replica: ([\d.]+) requests/s x ([\d.]+) / (\d+) = ([\d.]+)", text)
    assert found
    peak, margin, replicas, each = map(float, found.groups())
    assert peak * margin / replicas == pytest.approx(each)
    ledger = re.search(r"pool: ([\d.]+) GiB((?: - [\d.]+ \w+)+) = ([\d.]+) GiB", text)
    assert ledger
    taken = sum(map(float, re.findall(r"- ([\d.]+)", ledger[2])))
    assert float(ledger[1]) - taken == pytest.approx(float(ledger[3]), abs=0.04)
