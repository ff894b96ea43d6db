"""Curves in words and rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bide.facts.deployment import Deployment
from bide.report.curve_explain import explained
from bide.report.curve_files import curve_csv, curve_markdown
from bide.report.curve_names import load_name, mix_name, names
from bide.report.curve_notes import notes
from bide.report.curve_said import Misfit, best, headline, said
from bide.report.curve_sentences import sentences, waits_for
from bide.report.curve_table import bound_name, curve_table, limits
from bide.simulate.operating import Bound, Curve, Load, Mix
from made_curves import curve, point, told, unstable


def test_one_curve_is_answered_by_its_knee() -> None:
    first, second = sentences(told(curve()))
    # 32 clients: TPOT 6 + 32 x 0.15 = 10.8 ms; E2E 50 ms + 499 x 10.8 ms = 5.439 s; 32 x 500 / 5.439 = 2,942 tokens/s
    assert first.startswith("At the knee, 32 clients at once: a token every 11 ms (9.7 to 13), the first after 50 ms")
    assert "2,940 output tokens/s per GPU, $0." in first
    assert "meta-llama/Llama-3.1-8B on h100-sxm" in second
    assert "prompts of 1,000 and answers of 500 tokens" in second
    assert "reading of the weights" in second


def test_one_load_is_answered_without_a_knee() -> None:
    first, *_more = sentences(told(replace(curve(loads=(8,)), knee=None)))
    assert first.startswith("8 clients at once: a token every 7.2 ms")


def test_without_a_knee_the_most_throughput_is_spoken_of() -> None:
    assert headline(replace(curve(), knee=None)).load.value == 64


def test_a_batch_says_when_it_is_done() -> None:
    run = replace(curve(), points=(point(64, kind="batch"),), knee=None)
    first, *_more = sentences(told(run))
    # 64 at once: 64 / 7.8344 s = 8.169 requests/s, so 64 are done in 7.83 s
    assert first.startswith("A batch of 64: done in 7.8 s, a token every 16 ms")


def test_a_load_that_cannot_be_held_says_what_can() -> None:
    first, second = sentences(told(replace(curve(), points=(unstable(20),), knee=None)))
    assert first.startswith("20 requests/s cannot be held: at most 8.17 requests/s")
    assert "queue grows" in second


def test_several_curves_are_compared_for_readers_and_for_cost() -> None:
    # four times as slow, TPOT is 43 ms at 32 clients and 62 ms at 64
    first, second, third = sentences(told(curve(4), curve(9, gpu="h200-sxm")))
    assert first.startswith(
        "For people who read along (a first token within 1 s, then one every 50 ms): h100-sxm with 32 clients: a token"
    )
    assert second.startswith("For the least cost, however long it takes: h100-sxm with 64 clients: a token every 62 ms")
    assert third == "meta-llama/Llama-3.1-8B: prompts of 1,000 and answers of 500 tokens."


def test_a_queue_is_nothing_for_people_who_read_along() -> None:
    found = best(told(curve()), [0], streaming=True)
    assert found is not None
    assert found[1].load.value == 64  # at 128 the cost is the same, but the first token comes after 7.9 s


def test_a_tie_is_for_both_at_once() -> None:
    first, _second = sentences(told(curve(), curve(2, gpu="l40s")))
    assert "and for the least cost: h100-sxm with 64 clients" in first


def test_nothing_fast_enough_is_said() -> None:
    first, second, _third = sentences(told(curve(20), curve(30, gpu="l40s")))
    assert first.startswith("None of them streams to people who read along")
    assert second.startswith("For the least cost")


def test_offline_only_cost_counts() -> None:
    runs = [replace(curve(slow), points=(point(64, slow, kind="batch"),), knee=None) for slow in (1, 2)]
    first, *_more = sentences(told(*runs))
    assert first.startswith("For the least cost: ")


def test_mixes_are_answered_one_by_one() -> None:
    found = list(sentences(told(curve(), curve(mix=Mix(8192, 300)))))
    assert [text.startswith("At the knee") for text in found] == [True, False, True, False]
    assert "prompts of 8,192 and answers of 300 tokens" in found[3]


def test_what_does_not_fit_is_named_with_its_reason() -> None:
    assert list(sentences(told(curve(), misfits=(("l4", "16 GB do not hold it"),))))[-1] == (
        "Not shown: l4. 16 GB do not hold it."
    )


def test_the_table_has_a_row_a_point_and_marks_knee_and_front() -> None:
    headers, rows = curve_table(told(curve(), front=frozenset({(0, 0), (0, 5)})), 0)
    assert len(rows) == 8
    assert {len(row) for row in rows} == {len(headers)}
    assert [row[-1] for row in rows] == ["*", "", "", "", "", "* knee", "", ""]
    assert rows[7][:2] == ["128", "64 +64"]
    assert rows[5][3:5] == ["10.8 ms", "9.7 to 13"]
    assert rows[0][7] == "163"  # 1 / 6.15 ms


def test_an_unstable_row_has_no_times() -> None:
    _headers, (row,) = curve_table(told(replace(curve(), points=(unstable(),), knee=None)), 0)
    assert (row[1], row[2], row[6], row[11]) == ("64 +∞", "–", "–", "unstable")


@pytest.mark.parametrize(
    "bound", ["weights", "kv", "compute", "network", "overhead", "prefill", "memory", "max_num_seqs", "unstable"]
)
def test_every_bound_has_a_word_and_a_sentence(bound: Bound) -> None:
    assert bound_name(bound)
    assert waits_for(bound).endswith(".")


def test_limits_say_where_the_cache_outweighs_the_weights() -> None:
    assert limits(curve()).startswith("At most 64 such requests run at once. From 50 running requests on,")
    assert "fewer bytes of cache" in limits(replace(curve(), kv_outweighs_weights_at=None))
    assert limits(replace(curve(), slots=float("inf"))).startswith("Any number")


def test_notes_say_each_thing_once() -> None:
    lines = list(notes(told(curve(), curve(2, gpu="l40s"), curve(tp=2))))
    assert len(set(lines)) == len(lines)
    assert sum("engine = vllm" in line for line in lines) == 1
    assert sum("figures made by hand" in line for line in lines) == 1
    assert sum(line.startswith("Price of h100-sxm") for line in lines) == 1


def deployment(**raw: object) -> Deployment:
    return Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm", **raw})


def test_curves_are_named_by_what_differs_and_was_said() -> None:
    mix = Mix(1000, 500)
    plain, two, fp8 = deployment(), deployment(tp=2), deployment(kv_dtype="fp8", enforce_eager=True)
    assert names([(plain, mix)]) == ["h100-sxm"]
    assert names([(plain, mix), (two, mix)]) == ["h100-sxm", "2 x h100-sxm (TP2)"]
    assert names([(plain, mix), (fp8, mix)])[1] == "h100-sxm, kv_dtype fp8, enforce_eager"
    # an L4's defaults differ from an H100's, but nobody said them
    assert names([(plain, mix), (deployment(gpu="l4"), mix)]) == ["h100-sxm", "l4"]
    assert names([(plain, mix), (plain, Mix(239.6, 345))])[1] == "h100-sxm, 239.6 + 345 tokens"
    assert names([(plain, mix), (deployment(engine="sglang"), mix)])[0] == "h100-sxm, vllm 0.33.0"


def test_loads_and_mixes_are_said_as_people_say_them() -> None:
    assert load_name(Load("concurrency", 1)) == "1 client"
    assert load_name(Load("requests_per_s", 0.5)) == "0.5 requests/s"
    assert load_name(Load("batch", 2000)) == "a batch of 2,000"
    assert mix_name(Mix(1234567, 500)) == "1,234,567 + 500 tokens"


def test_the_explanation_adds_up() -> None:
    lines = list(explained(told(curve())))
    assert lines[0] == "Where the time goes: h100-sxm with 32 clients"
    assert lines[1] == "  a token: 10.8 ms"
    shown = [float(ms) for line in lines[2:6] for ms in re.findall(r"([\d.]+) ms", line)]
    assert sum(shown) == pytest.approx(10.8)  # 5 + 3.2 + 1 + 1.6
    text = "\n".join(lines)
    assert "E2E: 50 ms + (500 - 1) x 10.8 ms = 5.44 s" in text
    assert "32 clients / 5.44 s = 5.88 (Little's law)" in text
    assert "5.88 requests/s x 500 tokens = 2,942" in text


def test_bars_are_as_long_as_their_shares() -> None:
    bars = [line.count("#") for line in explained(told(curve())) if "reading them" in line or "in between" in line]
    assert bars[:2] == [19, 6]  # of 40: 5 / 10.8 and 1.6 / 10.8


def test_a_rate_is_explained_by_what_is_in_the_system() -> None:
    found = replace(curve(), points=(replace(point(10), load=Load("requests_per_s", 2.637)),), knee=None)
    assert "requests/s x 3.79 s = 10 (Little's law), of which 10 run" in "\n".join(explained(told(found)))


def test_csv_has_a_row_a_point_with_numbers() -> None:
    rows = list(csv.DictReader(io.StringIO(curve_csv(told(curve(), curve(tp=2))))))
    assert len(rows) == 16
    assert float(rows[5]["tpot_s"]) == pytest.approx(0.0108)
    assert float(rows[5]["tpot_s_p90"]) == pytest.approx(0.0108 * 1.2)
    assert (rows[5]["knee"], rows[0]["pareto"], rows[15]["gpus"]) == ("1", "1", "2")
    assert (rows[5]["load_kind"], rows[5]["load"]) == ("concurrency", "32")


def test_markdown_has_a_table_for_each_curve() -> None:
    text = curve_markdown(told(curve(), curve(tp=2), explained=True))
    assert text.count("| clients |") == 2
    assert "## 2 x h100-sxm (TP2)" in text
    assert "Little's law" in text


def test_the_front_is_each_mix_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def pareto(curves: Sequence[Curve]) -> set[tuple[int, int]]:
        assert len({curve.mix for curve in curves}) == 1
        return {(len(curves) - 1, 2)}

    monkeypatch.setattr("bide.simulate.curve.pareto", pareto)
    long = Mix(8192, 300)
    made = said([curve(), curve(mix=long), curve(2, gpu="l40s")], [Misfit(deployment(gpu="l4"), long, "too small")])
    assert made.front == {(2, 2), (1, 2)}
    assert made.names[2] == "l40s, 1,000 + 500 tokens"
    assert made.misfits == (("l4, 8,192 + 300 tokens", "too small"),)


def test_a_warning_says_what_it_is_about_unless_that_is_all() -> None:
    one, two = curve(loads=(1, 2)), curve(2, loads=(1, 2), gpu="l40s")
    everywhere = [replace(made, warnings=("too hot",)) for made in (one, two)]
    assert "Note: too hot" in list(notes(told(*everywhere)))
    assert "Note: too hot (l40s)" in list(notes(told(one, everywhere[1])))
    at_two = replace(two, points=(two.points[0], replace(two.points[1], warnings=("too fast",))))
    assert "Note: too fast (l40s: 2 clients)" in list(notes(told(one, at_two)))
    assert "Note: too fast (2 clients)" in list(notes(told(at_two)))


def test_an_assumption_says_which_curves_make_it_unless_all_do() -> None:
    lines = "\n".join(notes(told(curve(), curve(2, gpu="l4"))))
    assert "max_num_seqs = 1024 on h100-sxm" in lines
    assert "max_num_seqs = 256 on l4" in lines
    assert "block_size = 16," in lines


def test_with_drafts_the_time_between_steps_is_told_from_that_of_a_token() -> None:
    plain = curve()
    drafting = replace(plain, deployment=replace(plain.deployment, speculative_tokens=2))
    assert not any("With drafts" in text for text in notes(told(plain)))
    assert any("With drafts" in text for text in notes(told(drafting)))
