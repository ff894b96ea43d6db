"""Workload files: what they may say, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bide.errors import BadInput
from bide.units import parse_seconds
from bide.workload.measuring.lengths import spearman
from bide.workload.modelling.description import model_from, parse_text, read_description
from bide.workload.modelling.model import ClosedLoop, sample

EXAMPLE = Path(__file__).parents[2] / "examples" / "traces"
LENGTHS = {"prompt": {"p50": 900, "p95": 3800}, "output": {"mean": 210}}


def drawn(given: dict[str, object], count: int = 2000):  # type: ignore[no-untyped-def]
    return sample(model_from(given, EXAMPLE, "workload.yaml"), count, 0)


def test_lengths_with_arrivals_and_a_correlation() -> None:
    trace = drawn(
        {"lengths": {**LENGTHS, "correlation": 0.4}, "arrivals": {"kind": "gamma", "rps": 12, "burstiness": 0.5}}
    )
    assert np.median(trace.prompt_tokens) == pytest.approx(900, rel=0.1)
    assert spearman(trace.prompt_tokens, trace.output_tokens) == pytest.approx(0.4, abs=0.05)
    assert trace.requests_per_s == pytest.approx(12, rel=0.1)
    assert np.diff(trace.arrival_s).std() * 12 == pytest.approx(2**0.5, rel=0.15)


def test_a_trace_by_another_rate(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(f"trace: {EXAMPLE / 'azure-conv-2023-peak15min.csv'}\narrivals: {{rps: 2}}\n")
    trace = sample(read_description(tmp_path / "w.yaml"), 2000, 0)
    assert trace.requests_per_s == pytest.approx(2, rel=0.1)


def test_sessions_come_so_often_that_the_requests_do() -> None:
    sessions = {
        "turns": {"p50": 3, "p95": 9},
        "first": 1000,
        "added": 50,
        "output": 100,
        "think": {"p50": "5s", "p95": "30s"},
    }
    trace = drawn(
        {"sessions": sessions, "arrivals": {"rps": 4}, "system_prompts": [{"tokens": 640, "share": 0.5}]}, 4000
    )
    assert trace.requests_per_s == pytest.approx(4, rel=0.1)
    assert trace.blocks is not None
    assert trace.prompt_tokens.min() == 1000


def test_a_closed_loop_and_a_day() -> None:
    loop = {"kind": "closed", "users": 5, "think": "3s", "first_token": "200ms", "per_token": "10ms"}
    model = model_from({"lengths": LENGTHS, "arrivals": loop}, EXAMPLE, "w")
    assert isinstance(model.arrivals, ClosedLoop)
    assert (model.arrivals.users, model.arrivals.pace.first_s) == (5, 0.2)
    hours = {"kind": "diurnal", "rps": 1, "hours": [0] * 12 + [1] * 12}
    trace = drawn({"lengths": LENGTHS, "arrivals": hours}, 100)
    assert trace.arrival_s is not None
    assert trace.arrival_s[0] > 12 * 3600


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "one of trace, lengths and sessions"),
        ({"lengths": LENGTHS, "trace": "x"}, "one of trace, lengths and sessions"),
        ({"length": LENGTHS}, "Did you mean lengths"),
        ({"lengths": LENGTHS}, "rps"),
        ({"lengths": {"prompt": 5}, "arrivals": {"rps": 1}}, "lengths.output"),
        ({"lengths": {**LENGTHS, "correlation": 2}, "arrivals": {"rps": 1}}, "lengths.correlation"),
        ({"lengths": LENGTHS, "arrivals": {"rps": 0}}, "arrivals.rps"),
        ({"lengths": LENGTHS, "arrivals": {"rps": 1, "kind": "poison"}}, "Did you mean poisson"),
        ({"lengths": LENGTHS, "arrivals": {"rps": 1, "hours": [1, 2]}}, "24 weights"),
        ({"lengths": LENGTHS, "arrivals": 5}, "a mapping with kind"),
        (
            {"lengths": LENGTHS, "arrivals": {"rps": 1}, "system_prompts": [{"tokens": 100, "part": 1}]},
            "one of share, tokens",
        ),
        ({"sessions": {"turns": 3, "first": 10}, "arrivals": {"rps": 1}}, "sessions.output"),
        ({"sessions": {"turns": 3, "first": 10, "output": 5}}, "arrivals.rps"),
        ({"sessions": 5, "arrivals": {"rps": 1}}, "a mapping with turns"),
    ],
    ids=str,
)
def test_a_file_that_cannot_be_names_the_key(given: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        model_from(given, EXAMPLE, "workload.yaml")
    assert said in str(caught.value)


@pytest.mark.parametrize("content", ["- 1\n", "a: [\n", "\x00"])
def test_what_is_no_workload_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "w.yaml").write_text(content)
    with pytest.raises(BadInput, match="workload"):
        read_description(tmp_path / "w.yaml")


def test_figures_on_a_command_line() -> None:
    assert parse_text("900", "prompt").quantile_tokens(0.3) == 900
    assert parse_text("8k", "prompt").quantile_tokens(0.3) == 8192
    assert parse_text("p50=900,p95=3800", "prompt").quantile_tokens(0.95) == 3800
    assert parse_text("uniform:low=100,high=200", "prompt").quantile_tokens(0.5) == 150
    assert parse_text("p50=10s,p95=2min", "think", parse_seconds).values(np.array([0.95])) == pytest.approx([120])
    for text in ("p50:900", "p50=900,3800", "much", ""):
        with pytest.raises(BadInput):
            parse_text(text, "prompt")
