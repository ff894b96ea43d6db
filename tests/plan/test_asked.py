"""What the keys of a service file mean, beyond being refused where they are wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from bide.errors import BadInput
from bide.facts.diurnal import day_curves
from bide.plan.question import Fleet, Question, Service
from bide.plan.service_file import question_from, read_question

Write = Callable[..., Path]
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
DAYS = "2023-11-{day} {hour:02}:{minute:02}:{second:02}.5,{prompt},{output}\n"


def one(question: Question) -> Service:
    (service,) = question.services
    return service


def changed(write: Write, **keys: object) -> Service:
    """The service of the file with these keys in it; those that are None are taken out."""

    def change(content: dict[str, Any]) -> None:
        entry = content["services"][0]
        entry.update(keys)
        for key in [key for key, value in entry.items() if value is None]:
            del entry[key]

    return one(read_question(write(change)))


def save_trace(folder: Path, seconds: list[int], output: int = 20) -> None:
    """A request at each of these seconds of a day."""
    rows = [
        DAYS.format(
            day=16 + s // 86400,
            hour=s // 3600 % 24,
            minute=s // 60 % 60,
            second=s % 60,
            prompt=100 + s % 7,
            output=output,
        )
        for s in seconds
    ]
    (folder / "trace.csv").write_text(HEADER + "".join(rows), encoding="utf-8")


def test_what_is_left_out_is_assumed_and_said(write: Write) -> None:
    def change(content: dict[str, Any]) -> None:
        del content["services"][0]["patience"]
        content["services"][0]["traffic"] = {"peak_rps": 4}

    question = read_question(write(change))
    (limit,) = one(question).patience
    assert (limit.measure.name, limit.seconds) == ("e2e_p95", 5.0)
    assert one(question).traffic.planned_rps == 6  # 4 x 1.5
    assert {(a.name, a.value) for a in question.assumptions} == {
        ("margin of chat", 1.5),
        ("patience of chat", "e2e_p95 5 s"),
    }


def test_growth_is_a_share_or_a_factor(write: Write) -> None:
    for growth in ("20%", 1.2):
        traffic = changed(write, traffic={"peak_rps": 10, "growth": growth, "margin": 1.5}).traffic
        assert traffic.planned_rps == pytest.approx(18)  # 10 x 1.2 x 1.5


def test_the_peak_of_a_trace_is_that_of_its_busiest_window(write: Write, tmp_path: Path) -> None:
    # One request every 10 s for half an hour, but 30 in the minute from 600 s on: one a 2 s, and the regular 6.
    save_trace(tmp_path, sorted([*range(0, 1800, 10), *range(601, 660, 2)]))
    traffic = changed(write, workload={"trace": "trace.csv"}, traffic={"peak_rps": "trace"}).traffic
    assert traffic.peak_rps == pytest.approx(36 / 60)
    assert traffic.peak_from == "the trace's busiest 60 s, 36 requests from 600 s on"
    wider = changed(write, workload={"trace": "trace.csv"}, traffic={"peak_rps": "trace", "window": "10min"}).traffic
    assert wider.peak_rps == pytest.approx(90 / 600)  # 60 regular ones and the 30


def test_requests_that_failed_count_into_the_peak(write: Write, tmp_path: Path) -> None:
    save_trace(tmp_path, list(range(0, 600, 5)))
    text = (tmp_path / "trace.csv").read_text(encoding="utf-8")
    failed = [DAYS.format(day=16, hour=0, minute=1, second=s, prompt=10, output=0) for s in range(0, 60, 2)]
    (tmp_path / "trace.csv").write_text(text + "".join(failed), encoding="utf-8")
    service = changed(write, workload={"trace": "trace.csv"}, traffic={"peak_rps": "trace"})
    assert service.traffic.peak_rps == pytest.approx(42 / 60)  # 12 regular ones and 30 that got no answer
    assert len(service.workload) == 120


def test_a_window_longer_than_the_trace_is_refused(write: Write, tmp_path: Path) -> None:
    save_trace(tmp_path, list(range(150)))
    with pytest.raises(BadInput, match=r"traffic\.window: got '1h'; allowed: a time from 1 s to .* 149 s\. \(line"):
        changed(write, workload={"trace": "trace.csv"}, traffic={"peak_rps": "trace", "window": "1h"})


def test_a_trace_of_three_rows_is_refused(write: Write, tmp_path: Path) -> None:
    save_trace(tmp_path, [1, 2, 3])
    with pytest.raises(BadInput, match=r"workload\.trace: .* at least 100 answered requests\. 3 rows are too few"):
        changed(write, workload={"trace": "trace.csv"})


def test_hours_are_shares_of_the_busiest(write: Write) -> None:
    given = [2.0] * 23 + [4.0]
    assert changed(write, traffic={"peak_rps": 4, "hours": given}).traffic.hours == (0.5,) * 23 + (1.0,)
    office = changed(write, traffic={"peak_rps": 4, "hours": "office"}).traffic
    assert office.hours == day_curves()["office"].hours
    assert "AzurePublicDataset" in office.hours_from


def test_hours_of_a_trace_are_measured(write: Write, tmp_path: Path) -> None:
    save_trace(tmp_path, [h * 3600 + n for h in range(25) for n in range(0, 3600, 360 if h % 24 < 12 else 720)])
    hours = changed(write, workload={"trace": "trace.csv"}, traffic={"peak_rps": 4, "hours": "trace"}).traffic.hours
    assert hours == (1.0,) * 12 + (0.5,) * 12  # 10 requests an hour, then 5


def test_limits_on_gaps_between_tokens_and_goodput(write: Write) -> None:
    patience = {"itl_p99": "0.2s", "goodput": {"share": "95%", "ttft": "1s", "tpot": "50ms"}}
    service = changed(write, patience=patience)
    assert [limit.measure.name for limit in service.patience] == ["itl_p99"]
    assert service.goodput is not None
    assert (service.goodput.share, service.goodput.limits) == (0.95, (("ttft", 1.0), ("tpot", 0.05)))


def test_goodput_alone_leaves_no_other_limit(write: Write) -> None:
    service = changed(write, patience={"goodput": {"share": 0.9, "e2e": "5s"}})
    assert service.patience == ()


def test_lists_are_choices_and_single_values_are_fixed(write: Write) -> None:
    deployment = {"kv_dtype": "fp8", "weights": ["auto", "fp8"], "tp": [1, 2], "max_num_seqs": ["64"]}
    service = changed(write, deployment=deployment)
    assert service.engine == {"kv_dtype": "fp8", "max_num_seqs": 64}
    assert service.choices == {"weights": ("auto", "fp8"), "tp": (1, 2)}


def test_a_value_that_works_with_one_of_the_others_is_taken(write: Write) -> None:
    # 128k tokens a step are more than a context of 4k needs, but allowed; a context of 256k is more than the model's.
    service = changed(write, deployment={"max_model_len": ["4k", "8k"], "max_num_batched_tokens": "8k"})
    assert service.choices == {"max_model_len": (4096, 8192)}
    assert service.engine == {"max_num_batched_tokens": 8192}


def test_prices_and_fleet(write: Write) -> None:
    def change(content: dict[str, Any]) -> None:
        content["hardware"] |= {"price_multiplier": 0.6, "price_note": "3 years reserved"}
        content["fleet"] = {"router": "least-requests", "spare_replicas": 1, "scale_up": "2min", "share": False}
        content["services"][0] |= {"api_price": {"input": 0.15, "output": 0.6}, "disaggregated": [True, False]}

    question = read_question(write(change))
    assert (question.hardware.price_multiplier, question.hardware.price_note) == (0.6, "3 years reserved")
    assert question.fleet == Fleet("least-requests", 1, 0, 120.0, False, True)
    service = one(question)
    assert service.disaggregated == (False, True)
    assert service.api_price is not None
    assert service.api_price.usd_per_million_output_tokens == 0.6


def test_a_trace_is_kept_where_prompts_share_beginnings(write: Write, tmp_path: Path) -> None:
    def rows(shared: bool) -> str:
        chains = (f"[0, {n}]" if shared else f"[{2 * n}, {2 * n + 1}]" for n in range(1, 151))
        return "".join(
            f'{{"timestamp": {1000 * n}, "input_length": 1024, "output_length": {n % 3}, "hash_ids": {chain}}}\n'
            for n, chain in enumerate(chains)
        )

    for shared in (True, False):
        (tmp_path / "trace.jsonl").write_text(rows(shared), encoding="utf-8")
        service = changed(write, workload={"trace": "trace.jsonl"})
        assert (service.trace is not None) == shared
        if service.trace is not None:
            assert np.array_equal(service.trace.output_tokens, service.workload.output_tokens)


OBSERVED = {
    "services": [
        {
            "name": "seen",
            "model": "seen",
            "workload": {"lengths": {"prompt": {"points": {0: 1, 100: 900}}, "output": {"points": {0: 1, 100: 90}}}},
            "traffic": {"peak_rps": 7.5},
        }
    ]
}


def test_an_observed_file_gives_lengths_and_peak(write: Write, tmp_path: Path) -> None:
    (tmp_path / "seen.yaml").write_text(yaml.safe_dump(OBSERVED), encoding="utf-8")
    service = changed(write, workload={"file": "seen.yaml"}, traffic={"peak_rps": "observed"})
    assert service.traffic.peak_rps == 7.5
    assert service.traffic.peak_from == "the highest observed rate"
    assert service.workload.prompt_tokens.max() == pytest.approx(900, rel=0.01)
    assert service.workload.source.text.endswith(": seen.yaml")


def test_a_workload_file_with_a_system_prompt_keeps_its_chains(write: Write, tmp_path: Path) -> None:
    described = {
        "lengths": {"prompt": {"p50": 1000, "p95": 2000}, "output": {"mean": 100}},
        "system_prompts": [{"tokens": 640}],
    }
    (tmp_path / "work.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    service = changed(write, workload={"file": "work.yaml"})
    assert service.trace is not None
    assert len(service.trace) == len(service.workload)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"services": []}, r"seen.yaml: services \(line 1\); the file is named here \(line 5\)"),
        ({"services": [{"name": "a"}]}, "a service with a workload"),
        ({"services": [{"workload": {"file": "seen.yaml"}}]}, "not a further file"),
        (
            {"services": [{"workload": {"lengths": {"prompt": 5}}}]},
            r"lengths: got .* output missing\. \(line 1\)|output",
        ),
        ({"lengths": {"prompt": {"p5O": 5}, "output": 3}}, r"seen.yaml: lengths\.prompt\.p5O did you mean p5"),
        ({"sessions": {"turns": 3, "first": 50, "output": 20}}, "seen.yaml: arrivals.rps"),
        (
            {"lengths": {"prompt": 5, "output": 3}, "arrivals": {"kind": "closed", "users": 3}},
            "a closed loop is the server's",
        ),
        ([1], "lengths, a trace or sessions"),
    ],
)
def test_a_bad_workload_file_is_one_error_that_names_both_files(
    write: Write, tmp_path: Path, content: object, said: str
) -> None:
    (tmp_path / "seen.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(BadInput, match=said) as caught:
        changed(write, workload={"file": "seen.yaml"})
    assert caught.value.field == "services[0].workload.file"
    assert "In seen.yaml: " in str(caught.value)


def test_a_question_can_be_asked_again_from_its_content(write: Write) -> None:
    path = write()
    question = read_question(path)
    again = question_from(question.given, path)
    assert again.given == question.given
    assert again.services[0].patience == question.services[0].patience


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"patience": {"e2e_p95": "soon"}}, "services[0].patience.e2e_p95"),
        ({"traffic": {"peak_rps": 1, "hours": [1, 2]}}, "services[0].traffic.hours"),
        ({"deployment": {"tp": [1, 3]}}, "services[0].deployment.tp[1]"),
        ({"workload": {"lengths": {"prompt": {"p50": "x"}, "output": 9}}}, "services[0].workload.lengths.prompt.p50"),
        ({"surge": 1}, "services[0].surge"),
    ],
)
def test_what_was_asked_as_json_is_refused_at_its_path_and_at_no_line(parts: dict[str, object], field: str) -> None:
    """Nobody wrote the lines that a file made of it would have."""
    given = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "workload": {"lengths": {"prompt": 300, "output": 20}},
        "traffic": {"peak_rps": 2},
    }
    with pytest.raises(BadInput) as caught:
        question_from({"services": [given | parts], "hardware": {"gpus": ["l40s"]}}, Path("service.yaml"))
    assert caught.value.field == field
    assert "line" not in str(caught.value)
