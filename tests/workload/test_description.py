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


LENGTHS_FILE = "lengths:\n  prompt: {p50: 900, p95: 3800}\n  output: 200\n"


@pytest.mark.parametrize(
    ("content", "said", "line"),
    [
        (LENGTHS_FILE + "\narivals: {rps: 5}\n", "Did you mean arrivals", 5),
        (LENGTHS_FILE + "arrivals:\n  kind: poisson\n  rsp: 5\n", "Did you mean rps", 6),
        ("lengths:\n  output: 5\n  promt: 5\n", "Did you mean prompt", 3),
        (LENGTHS_FILE + "arrivals:\n  rps: 5\n  kind: poison\n", "Did you mean poisson", 4),
        (LENGTHS_FILE + "arrivals:\n  kind: poisson\n  burstiness: 0.5\n", "belongs to arrivals of the kind gamma", 6),
        (LENGTHS_FILE + "arrivals:\n  kind: closed\n  users: 2.5\n", "a whole number", 6),
        (LENGTHS_FILE + "arrivals: {kind: wandering, rps: 5}\n", "wandering its variation", 4),
        (LENGTHS_FILE + "arrivals: {rates: [0, 0]}\n", "not all 0", 4),
        (LENGTHS_FILE + "arrivals: {rps: 5}\nsystem_prompts:\n  - tokens: 500\n    shar: 1\n", "Did you mean share", 7),
        (LENGTHS_FILE + LENGTHS_FILE, "each key once", 4),
        ("\ntrace: none.csv\n", "a file that exists", 2),
        ("sessions:\n  turns: 3\n  first: 100\n  output: 9\n  max_context_tokens: 10\n", "the first prompt", 5),
        ("sessions: {turns: 100000000, first: 100, output: 50}\narrivals: {rps: 1}\n", "10,000 turns", 1),
        ("sessions: {turns: 3, first: 100, output: 50}\narrivals: {kind: closed, users: 4}\n", "by themselves", 2),
    ],
)
def test_an_error_names_its_line(tmp_path: Path, content: str, said: str, line: int) -> None:
    (tmp_path / "w.yaml").write_text(content)
    with pytest.raises(BadInput) as caught:
        read_description(tmp_path / "w.yaml")
    assert said in str(caught.value)
    assert str(caught.value).endswith(f"(line {line})")


def arrived(arrivals: dict[str, object], count: int = 20_000) -> np.ndarray:
    times_s = drawn({"lengths": {"prompt": 10, "output": 5}, "arrivals": arrivals}, count).arrival_s
    assert times_s is not None
    return np.asarray(times_s)


def test_every_kind_of_arrivals_comes_from_a_file_with_its_figures() -> None:
    # 2, 9 and 4 a second, a minute each: 900 requests in 180 s
    steps = arrived({"kind": "rates", "window": "60s", "rates": [2, 9, 4]}, 9000)
    minute = (steps % 180) // 60
    assert [np.mean(minute == m) for m in range(3)] == pytest.approx([2 / 15, 9 / 15, 4 / 15], abs=0.02)
    assert len(steps) / steps[-1] == pytest.approx(5, rel=0.05)
    gaps = np.diff(arrived({"kind": "constant", "rps": 8}))
    assert gaps == pytest.approx(np.full(len(gaps), 0.125))
    gamma = np.diff(arrived({"kind": "gamma", "rps": 8, "burstiness": 0.25}))
    assert gamma.std() / gamma.mean() == pytest.approx(2, rel=0.05)  # 1 / sqrt(0.25)
    wander = arrived({"kind": "wandering", "rps": 8, "window": "10s", "variation": 0.5, "persistence": 0.6}, 100_000)
    counts = np.bincount((wander // 10).astype(int))[:-1]
    assert counts.var() / counts.mean() == pytest.approx(1 + 80 * 0.25, rel=0.2)  # 1 + mean x variation^2
    day = arrived({"kind": "diurnal", "rps": 1, "peak_to_mean": 2.0}, 86_400)
    hours = np.bincount((day // 3600).astype(int) % 24)
    assert hours.argmax() in (13, 14)
    assert hours.max() / hours.mean() == pytest.approx(2.0, rel=0.05)


def test_a_trace_is_modelled_as_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        f"trace: {EXAMPLE / 'azure-conv-2023-peak15min.csv'}\nlengths: mixture\narrivals: {{kind: replay}}\n"
    )
    trace = sample(read_description(path), 6541, 0)
    assert trace.prompt_tokens.mean() == pytest.approx(1276, rel=0.08)
    assert trace.span_s == pytest.approx(900, abs=2)


def test_the_models_that_describe_gives_can_be_put_into_a_file() -> None:
    from bide.workload.modelling.compact import compact
    from bide.workload.reading.reader import read

    recorded = read([EXAMPLE / "azure-conv-2023-peak15min.csv"]).trace
    models = compact(recorded)
    for name in ("quantiles", "lognormal", "mixture"):
        lengths = {of: models["lengths"][of][name]["distribution"] for of in ("prompt", "output")}
        for kind, figures in models["arrivals"].items():
            trace = drawn({"lengths": lengths, "arrivals": {"kind": kind, **_keys(figures)}}, 5000)
            assert trace.requests_per_s == pytest.approx(recorded.requests_per_s, rel=0.15)
            gives = models["lengths"]["prompt"][name]["gives"]
            assert trace.prompt_tokens.mean() == pytest.approx(gives["mean"], rel=0.1)


def _keys(figures: dict[str, float]) -> dict[str, float]:
    return {key.removesuffix("_s"): value for key, value in figures.items()}


@pytest.mark.parametrize("content", ["- 1\n", "a: [\n", "\x00", "", "a: &x 5\nb: *x\n"])
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
