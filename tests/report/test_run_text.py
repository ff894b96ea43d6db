"""Measured levels of load in words and tables."""

from __future__ import annotations

import json
from dataclasses import replace

from bide.bench.formats.values import Asked, Fault, Figures, Run
from bide.report.measured_shown import runs_shown
from bide.report.run_text import endnotes, latency_table, level_table, names, sentences

_E2E = Figures(0.4, {50: 0.35, 95: 0.8}, intervals={95: (0.7, 0.9)})
FOUR = Run(
    "a.json",
    "vllm bench serve",
    Asked("concurrency", 4),
    completed=20,
    prompt_tokens=46.7,
    output_tokens=32,
    requests_per_s=11.0,
    output_tokens_per_s=352.2,
    latency={"e2e": _E2E},
    faults=(Fault("x", "the clock was coarse"),),
)
EIGHT = Run("b.json", "GuideLLM", Asked("concurrency", 8), output_tokens_per_s=500.0, latency={"e2e": _E2E})


def test_the_sentences_say_what_was_measured_by_whom_and_the_most() -> None:
    assert list(sentences([FOUR, EIGHT])) == [
        "2 levels of load, measured by vllm bench serve and GuideLLM.",
        "Most output: 500 tokens/s at c=8.",
    ]


def test_a_level_is_a_row_and_what_is_not_said_is_a_dash() -> None:
    _headers, rows = level_table([FOUR, EIGHT])
    assert rows[0] == ["c=4", "20", "-", "47 : 32", "11", "352", "-", "vllm bench serve"]
    assert rows[1][1] == "-"


def test_a_percentile_has_its_interval_where_the_result_says_it() -> None:
    headers, rows = latency_table([FOUR])
    assert headers[2:] == ["mean", "p50", "p90", "p95", "p99"]
    assert rows == [["c=4", "E2E", "400 ms", "350 ms", "-", "800 ms (700 ms to 900 ms)", "-"]]


def test_levels_of_the_same_load_are_told_apart_by_their_files() -> None:
    assert names([FOUR, EIGHT]) == ["c=4", "c=8"]
    assert names([FOUR, FOUR]) == ["c=4, a.json", "c=4, a.json"]


def test_what_is_wrong_with_one_is_said_of_that_one() -> None:
    assert next(iter(endnotes([FOUR, EIGHT]))) == "c=4: the clock was coarse"
    assert next(iter(endnotes([FOUR]))) == "the clock was coarse"


def test_a_page_gets_charts_as_plain_data() -> None:
    shown = runs_shown([FOUR, EIGHT])
    json.dumps(shown, allow_nan=False)
    level, spread = shown["charts"]
    assert [(row["x"], row["y"]) for row in level["spec"]["datasets"]["d0"]] == [(352.2, 0.8), (500.0, 0.8)]
    assert "E2E p95, s" in json.dumps(level["spec"])
    assert {row["of"] for row in spread["spec"]["datasets"]["d0"]} == {"E2E, c=4", "E2E, c=8"}


def test_levels_are_drawn_at_a_percentile_that_all_of_them_tell() -> None:
    """The one has p50 and p95, the other p50 and p99."""
    other = replace(EIGHT, latency={"e2e": Figures(0.5, {50: 0.45, 99: 0.9})})
    level = runs_shown([FOUR, other])["charts"][0]["spec"]
    assert [row["y"] for row in level["datasets"]["d0"]] == [0.35, 0.45]
    assert "E2E p50, s" in json.dumps(level)
