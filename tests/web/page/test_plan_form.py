"""The form of a plan and the service file: the same question, said in two ways."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.facts.diurnal import day_curves
from bide.located import located
from bide.plan.service_file import question_from
from bide.web.faults import NotThere
from bide.web.job_asks import PlanAsk
from bide.web.page import plan_moves, tab_plan
from bide.web.page.plan_blame import blamed, control_of
from bide.web.page.plan_day import drawn
from bide.web.page.plan_fields import KEYS, at, place_of, places
from bide.web.page.plan_files import check_files, known, uploads
from bide.web.page.plan_labels import label
from bide.web.page.plan_opening import Known, form_of, opened
from bide.web.page.plan_question import file_text, plan_ask
from bide.web.page.state import State

EXAMPLES = Path(__file__).parents[3] / "examples"
UPLOAD, RESULT = "u" * 22, "r" * 22
NAMES = ("model", "config", *(key.name for key in KEYS))


def state_of(**given: str) -> State:
    """The form after these were set; `limit_on__2` is `limit_on-2`."""
    state = State(tab_plan.KEYS)
    for key, text in given.items():
        state.set(key.replace("__", "-"), text)
        assert state.error(key.replace("__", "-")) == ""
    return state


def values(**given: str) -> dict[str, str]:
    return dict(state_of(**given).frozen())


def asked(form: dict[str, str] | Any) -> dict[str, str]:
    return {name: form[name] for name in NAMES}


def again(form: dict[str, str]) -> dict[str, str]:
    """The form from the file that another one wrote."""
    text = file_text(form, {UPLOAD: "mine.csv", RESULT: "at-4.jsonl"})
    return dict(opened(text, Known({"mine.csv": UPLOAD, "at-4.jsonl": RESULT})).values)


def test_a_form_that_nobody_touched_is_a_short_file() -> None:
    content = yaml.safe_load(file_text(values(), {}))
    assert content == {
        "services": [
            {
                "name": "chat",
                "model": "meta-llama/Llama-3.1-8B",
                "workload": {"lengths": {"prompt": {"p50": 1000, "p95": 3500}, "output": {"p50": 130, "p95": 500}}},
                "traffic": {"peak_rps": 10, "margin": 1.5},
                "patience": {"e2e_p95": "5s"},
                "deployment": {"engine": "vllm"},
            }
        ],
        "hardware": {"gpus": ["h100-sxm", "l40s"], "max_gpus": 64},
    }


EVERYTHING = {
    "limit_on": "ttft", "percentile": "99", "patience": "1.5", "limit_on_2": "itl", "percentile_2": "99.9",
    "patience_2": "120", "limit_on_3": "e2e", "percentile_3": "mean", "patience_3": "9", "goodput": "97.5",
    "good_ttft": "2", "good_tpot": "45", "good_e2e": "8", "peak_from": "trace", "window": "2min", "margin": "2",
    "growth": "-12.5", "hours": "office", "users": "20000", "work": "sample", "scale_prompt": "1900",
    "scale_output": "100", "source": "what: we, saw #1", "plan_tp": "1,4", "plan_weights": "auto,fp8", "plan_kv": "fp8",
    "engine": "sglang", "knobs": "max_num_seqs: [64, 256], enforce_eager: true", "apart": "either", "api_in": "0.15",
    "api_out": "0.6", "service__2": "documents: long", "work__2": "trace", "trace__2": UPLOAD, "hours__2": "trace",
    "apart__2": "yes", "measured__2": RESULT, "measured_awaited__2": "runs/at 8.jsonl\nat-16.jsonl",
    "measured_gpu__2": "l40s", "measured_as__2": "tp: 2, kv_dtype: fp8", "service__3": "third",
    "prompt_by__3": "mean: 900, p99: 8000, max: 16000", "output_by__3": "77",
    "hours__3": " ".join(str(hour) for hour in range(24)), "plan_gpus": "l40s,h200-sxm", "max_gpus": "12",
    "prices": "l40s:0.79", "price_factor": "0.6", "price_note": "3 years reserved", "router": "prefix", "spare": "1",
    "rolling": "2", "scale_up": "10min", "share": "no", "split": "no",
}  # fmt: skip
"""Nearly every input of the form, set to something else than its default."""


def test_everything_that_a_form_can_say_is_a_question_to_the_server() -> None:
    body = plan_ask(values(**EVERYTHING))
    PlanAsk.model_validate(body)
    assert body["services"][0]["workload"]["trace"] == {"sample": "azure-conv-2023"}
    assert body["services"][1]["workload"] == {"trace": {"upload": UPLOAD}}
    measured = {"results": [{"upload": RESULT}], "gpu": "l40s", "deployment": {"tp": 2, "kv_dtype": "fp8"}}
    assert body["services"][1]["measured"] == measured


def test_everything_that_a_form_can_say_comes_back_from_its_file() -> None:
    form = values(**EVERYTHING)
    assert asked(again(form)) == asked(form)
    content = yaml.safe_load(file_text(form, {UPLOAD: "mine.csv", RESULT: "at-4.jsonl"}))
    first, second, third = content["services"]
    assert first["patience"]["goodput"] == {"share": "97.5%", "e2e": "8s", "ttft": "2s", "tpot": "45ms"}
    assert first["traffic"].pop("hours") == "office"
    assert first["traffic"] == {"peak_rps": "trace", "window": "120s", "margin": 2, "growth": "-12.5%", "users": 20000}
    assert first["deployment"]["max_num_seqs"] == [64, 256]
    assert first["disaggregated"] == [False, True]
    assert second["disaggregated"] is True
    assert second["workload"] == {"trace": "./mine.csv"}
    assert second["measured"] == {
        "results": ["./at-4.jsonl", "runs/at 8.jsonl", "at-16.jsonl"],
        "gpu": "l40s",
        "deployment": {"tp": 2, "kv_dtype": "fp8"},
    }
    assert third["workload"]["lengths"] == {"prompt": {"mean": 900, "p99": 8000, "max": 16000}, "output": 77}
    assert content["fleet"] == {"router": "prefix", "spare_replicas": 1, "rolling_replicas": 2, "scale_up": 600,
                                "share": False, "split": False}  # fmt: skip


TIMES = {"ttft": (0.05, 1.0, 1), "e2e": (2.0, 60.0, 1), "tpot": (0.01, 0.2, 1000), "itl": (0.01, 0.2, 1000)}
"""Of a first token always less than of a last one: a limit that another one makes pointless is refused."""


@st.composite
def services(draw: st.DrawFn, place: int) -> dict[str, str]:
    """The inputs of one service, as a plan would take them."""
    on = draw(st.permutations(sorted(TIMES)))[: draw(st.integers(1, 3))]
    given = {"service": draw(st.sampled_from(["chat", "ask: me", "'x'", "№ 1", "yes", "12"])) + f" {place}"}
    for number, latency in enumerate(on, 1):
        low, high, unit = TIMES[latency]
        end = "" if number == 1 else f"_{number}"
        seconds = draw(st.floats(low, high))
        percentile = draw(st.sampled_from(["mean", "50", "90", "95", "97.5", "99"]))
        given |= {f"limit_on{end}": latency, f"percentile{end}": percentile, f"patience{end}": f"{seconds * unit:.4g}"}
    if draw(st.booleans()):
        given |= {"goodput": draw(st.sampled_from(["80", "95", "99.5"])), "good_e2e": "7.25"}
    given["peak_rps"] = f"{draw(st.floats(0.01, 1000)):.5g}"
    given["growth"] = draw(st.sampled_from(["", "20", "-7.3", "33.333333"]))
    given["hours"] = draw(st.sampled_from(["", *day_curves(), ",".join(f"{n / 7:.3g}" for n in range(24))]))
    given["prompt_p50"] = str(draw(st.integers(10, 400)))
    given["prompt_p95"] = str(draw(st.integers(401, 3000)))
    given["output_by"] = draw(st.sampled_from(["", "mean: 210, max: 4000", "150", "p50: 90, p99: 800"]))
    given["plan_tp"] = draw(st.sampled_from(["", "1", "2,1"]))
    given["plan_kv"] = draw(st.sampled_from(["", "auto,fp8"]))
    given["knobs"] = draw(st.sampled_from(["", "max_num_seqs: 64", "max_num_batched_tokens: [2048, 8192]"]))
    given["apart"] = draw(st.sampled_from(["", "yes", "either"]))
    given |= draw(st.sampled_from([{}, {"api_in": "0.1", "api_out": "2"}]))
    return {at(name, place): text for name, text in given.items() if text}


@st.composite
def forms(draw: st.DrawFn) -> dict[str, str]:
    count = draw(st.integers(1, 3))
    given = {name: text for place in range(1, count + 1) for name, text in draw(services(place)).items()}
    given["plan_gpus"] = draw(st.sampled_from(["l40s", "h100-sxm,l40s"]))
    given["prices"] = draw(st.sampled_from(["", "l40s:0.795"]))
    given["scale_up"] = draw(st.sampled_from(["300", "90.5"]))
    given["spare"] = draw(st.sampled_from(["0", "2"]))
    state = State(tab_plan.KEYS)
    for key, text in given.items():
        state.set(key, text)
        assert state.error(key) == ""
    return dict(state.frozen())


@settings(max_examples=25)
@given(forms())
def test_a_form_as_a_file_as_a_question_is_the_same_form(form: dict[str, str]) -> None:
    question = question_from(yaml.safe_load(file_text(form, {})), Path("service.yaml"))
    assert asked(form_of(located(question.given)).values) == asked(form)
    assert [service.name for service in question.services] == [form[at("service", place)] for place in places(form)]


@settings(max_examples=25)
@given(forms())
def test_a_form_comes_back_from_its_address(form: dict[str, str]) -> None:
    state, other = State(tab_plan.KEYS), State(tab_plan.KEYS)
    for key, text in form.items():
        state.set(key, text)
    assert other.read(state.query()) == []
    assert asked(other.frozen()) == asked(form)


def test_the_examples_open() -> None:
    """Both take the trace that comes with bide; a model of a file is to be dropped."""
    two = opened((EXAMPLES / "two-services.yaml").read_text(), Known())
    assert two.missing == ()
    assert (two.values["service"], two.values["service-2"]) == ("support chat", "document assistant")
    assert (two.values["work"], two.values["limit_on_2"], two.values["patience_2"]) == ("sample", "tpot", "50")
    patience = opened((EXAMPLES / "patience.yaml").read_text(), Known())
    assert patience.missing == ("config",)
    assert (patience.values["model"], patience.values["scale_prompt"]) == ("dense-35b-fp8", "1900")


def service(**parts: object) -> str:
    """A file with one service, a part of which is another."""
    given = {"name": "a", "model": "m", "workload": {"lengths": {"prompt": 9, "output": 9}}, "traffic": {"peak_rps": 1}}
    return yaml.safe_dump({"services": [given | parts], "hardware": {"gpus": ["l40s"]}}, sort_keys=False)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a service file of at most 50 kB"),
        ("services: [", r"a YAML file.*\(line 1\)"),
        (service(patience={"e2e_p95": "soon"}), r"services\[0\]\.patience\.e2e_p95: got 'soon'.*\(line 11\)"),
        (service(traffic={"peak_rps": 1, "margin": 99}), r"traffic\.margin: got 99; .*from 1 to 10.*\(line 10\)"),
        (service(traffic={"peak_rps": 1, "surge": 2}), r"traffic\.surge: got 'surge'.*one of growth, .*\(line 10\)"),
        (service(deployment={"tp": [3]}), r"deployment\.tp.*\(line 11\)"),
        (service(deployment={"warp": 3}), r"deployment\.warp.*\(line 11\)"),
        (service(workload={"trace": "a", "lengths": {}}), r"either a trace or lengths.*\(line 4\)"),
        (service(disaggregated="maybe"), r"disaggregated: got 'maybe'.*\(line 10\)"),
        (service(measured=[7]), r"measured\[0\]: got 7.*a short text.*\(line 11\)"),
        (service(measured={"results": "a", "gpu": "l4000"}), r"measured\.gpu: got 'l4000'.*\(line 12\)"),
        (service(measured={"results": "a", "deployment": {"tp": [1, 2]}}), r"measured\.deployment.*one value.*line 12"),
        (service(measured={"gpu": "l40s"}), r"measured.*results missing.*\(line 10\)"),
        (yaml.safe_dump({"services": [1], "hardware": {}}), r"services\[0\]: got 1"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_opened_is_refused_at_its_line(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        opened(text, Known())


@given(st.text(max_size=200))
def test_any_text_is_opened_or_refused(text: str) -> None:
    try:
        opened(text, Known())
    except BadInput:
        return


def test_a_file_that_is_not_here_is_asked_for_at_its_control() -> None:
    found = opened(service(workload={"trace": "traces/ours.csv"}, model="./ours/config.json"), Known())
    assert found.missing == ("config", "trace")
    assert found.values["trace_awaited"] == "traces/ours.csv"
    assert yaml.safe_load(file_text(found.values, {}))["services"][0]["workload"] == {"trace": "traces/ours.csv"}
    here = opened(service(workload={"trace": "traces/ours.csv"}), Known({"ours.csv": UPLOAD}))
    assert (here.values["trace"], here.missing) == (UPLOAD, ())


@pytest.mark.parametrize(
    ("field", "control"),
    [
        ("services[0].patience.e2e_p95", "patience"),
        ("services[1].patience.tpot_p99", "patience_2-2"),
        ("services[1].patience.goodput.ttft", "good_ttft-2"),
        ("services[1].patience.goodput", "goodput-2"),
        ("services[0].traffic.peak_rps", "peak_rps"),
        ("services[1].traffic.hours[3]", "hours-2"),
        ("services[0].workload.lengths.prompt.p95", "prompt_p95"),
        ("services[0].workload.lengths.output", "output_p95"),
        ("services[1].workload.trace", "trace-2"),
        ("services[1].name", "service-2"),
        ("services[0].model", "model"),
        ("services[0].deployment.tp[0]", "plan_tp"),
        ("services[0].deployment.max_num_seqs", "knobs"),
        ("services[0].disaggregated", "apart"),
        ("services[0].api_price.output", "api_out"),
        ("services[0].measured", "measured"),
        ("services[1].measured.results[1]", "measured-2"),
        ("services[1].measured.gpu", "measured_gpu-2"),
        ("services[1].measured.deployment.tp", "measured_as-2"),
        ("hardware.gpus[1]", "plan_gpus"),
        ("hardware.prices.l40s", "prices"),
        ("fleet.spare_replicas", "spare"),
        ("nothing", None),
    ],
)
def test_an_error_is_said_at_the_control_that_sets_its_field(field: str, control: str | None) -> None:
    form = values(
        service__2="documents", limit_on_2__2="tpot", percentile_2__2="99", patience_2__2="50", work__2="trace"
    )
    assert control_of(field, form) == control


def test_an_error_names_the_control_and_the_service() -> None:
    form = values(service__2="documents")
    found = blamed(BadInput("services[1].traffic.margin", 99, "a factor from 1 to 10"), form)
    assert found is not None
    assert found.text == "Margin above that, a factor of documents: got 99; allowed: a factor from 1 to 10"
    assert (found.key, found.place) == ("margin-2", 2)
    alone = blamed(BadInput("services[0].traffic.margin", 99, "less"), values())
    assert alone is not None
    assert alone.text == "Margin above that, a factor: got 99; allowed: less"


def test_every_input_has_a_name() -> None:
    assert all(label(key.name) for key in KEYS)


def moved(form: dict[str, str], moves: dict[str, str]) -> dict[str, str]:
    """The form after a move."""
    state = State(tab_plan.KEYS)
    for key, text in {**form, **moves}.items():
        state.set(key, text)
        assert state.error(key) == ""
    return dict(state.frozen())


def test_what_a_service_file_names_is_awaited_until_it_is_dropped_or_given_up() -> None:
    """A browser says the last part of a name; the server makes it harmless."""
    text = service(measured=["runs/at 4.jsonl", "other/at 4.jsonl", "at-8.jsonl"])
    form = moved(values(), dict(opened(text, Known()).values))
    assert form["measured_awaited"].splitlines() == ["runs/at 4.jsonl", "other/at 4.jsonl", "at-8.jsonl"]
    form = moved(form, plan_moves.with_arrived(form, "measured", "at 4.jsonl"))
    assert form["measured_awaited"].splitlines() == ["other/at 4.jsonl", "at-8.jsonl"], "one file for one name"
    form = moved(form, plan_moves.with_arrived(form, "measured", "more.jsonl"))
    form = moved(form, plan_moves.without_awaited(form, "measured", "at-8.jsonl"))
    assert form["measured_awaited"] == "other/at 4.jsonl"
    half = opened(text, Known({"at_4.jsonl": RESULT}))
    assert (half.values["measured"], half.missing) == (RESULT, ("measured",))
    assert half.values["measured_awaited"].splitlines() == ["other/at 4.jsonl", "at-8.jsonl"]


def test_a_trace_is_dropped_in_place_of_the_one_that_is_named() -> None:
    form = values(work__2="trace", service__2="b", trace_awaited__2="ours.csv")
    assert plan_moves.with_arrived(form, "trace-2", "ours (1).csv") == {"trace_awaited-2": ""}


class Kept:
    """A server's uploads: one a letter."""

    uploads: Kept
    names: Mapping[str, str] = {UPLOAD: "mine.csv", RESULT: "at-4.jsonl", "s" * 22: "at-4.jsonl"}

    def __init__(self) -> None:
        self.uploads = self

    def get(self, number: str) -> SimpleNamespace:
        if number not in self.names:
            raise NotThere("gone")
        return SimpleNamespace(name=self.names[number])


def test_files_that_are_called_the_same_have_names_of_their_own() -> None:
    form = values(measured=f"{RESULT},{'s' * 22}", work__2="trace", service__2="b", trace__2=UPLOAD)
    named = uploads(form, Kept())
    assert named == {RESULT: "at-4.jsonl", "s" * 22: "2-at-4.jsonl", UPLOAD: "mine.csv"}
    text = file_text(form, named)
    assert "# Beside this file: 2-at-4.jsonl, a benchmark that was dropped" in text.splitlines()
    assert asked(dict(opened(text, known(form, Kept())).values)) == asked(form)


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"work": "trace"}, "workload.trace", "a trace: drop one there"),
        ({"work": "file"}, "workload.trace", "a workload file: drop one there"),
        ({"work": "trace", "trace_awaited": "a.csv"}, "workload.trace", r"the service file names \(a.csv\): drop"),
        ({"measured_awaited": "a\nb"}, "measured.results", r"the service file names \(a and b\): drop"),
        ({"measured": "x" * 22}, "measured.results", "files that the server still has"),
        ({"measured": RESULT}, "measured.gpu", "the GPU that the replica ran on"),
    ],
)
def test_a_plan_waits_for_its_files(given: dict[str, str], field: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        check_files(values(**given), Kept())
    assert caught.value.field == f"services[0].{field}"
    check_files(values(measured=RESULT, plan_gpus="l40s"), Kept())
    check_files(values(measured=RESULT, measured_gpu="l40s"), Kept())


def test_limits_are_added_and_taken_away() -> None:
    form = moved(values(), plan_moves.with_limit(values(), 1))
    assert (form["limit_on"], form["limit_on_2"], form["patience_2"]) == ("e2e", "ttft", "1")
    assert moved(form, plan_moves.without_limit(form, 1, 2)) == values()
    first_gone = moved(form, plan_moves.without_limit(form, 1, 1))
    assert (first_gone["limit_on"], first_gone["patience"], first_gone["limit_on_2"]) == ("ttft", "1", "")
    assert plan_moves.without_limit(values(), 1, 1) == {}, "somebody waits"
    assert plan_moves.without_limit(values(goodput="95"), 1, 1)["limit_on"] == "none"


def test_streaming_is_a_first_token_and_the_time_for_each_further_one() -> None:
    form = moved(values(), plan_moves.after_setting(values(), "answers", "streamed"))
    service = yaml.safe_load(file_text(form, {}))["services"][0]
    assert service["patience"] == {"ttft_p95": "1s", "tpot_p95": "50ms"}
    assert moved(form, plan_moves.after_setting(form, "answers", "whole")) == values()


def test_another_latency_begins_with_its_usual_limit_where_the_unit_changes() -> None:
    assert plan_moves.after_setting(values(), "limit_on", "tpot") == {"limit_on": "tpot", "patience": "50"}
    assert plan_moves.after_setting(values(limit_on="tpot"), "limit_on", "itl") == {"limit_on": "itl"}


def test_a_service_is_added_named_and_removed() -> None:
    start = values(model="m", peak_rps="3")
    two = moved(start, plan_moves.with_service(start, 1))
    assert (places(two), two["model-2"], two["at"]) == ((1, 2), "m", "2")
    three = moved(two, plan_moves.with_service(two, 2))
    assert len({three[at("service", place)] for place in places(three)}) == 3
    back = moved(three, plan_moves.without_service(three, 1))
    assert (back["service"], back["service-2"], back["service-3"]) == (three["service-2"], three["service-3"], "")
    assert back["peak_rps"] == "10"


def test_own_hours_begin_with_the_curve_that_was_there() -> None:
    form = moved(values(hours="chat"), plan_moves.after_setting(values(hours="chat"), "hours-of", "own"))
    assert form["hours"].split(",")[:2] == ["0.665", "0.726"]
    flat = plan_moves.after_setting(values(), "hours-of", "own")
    assert flat["hours"] == ",".join(["1"] * 24)


def test_a_day_is_drawn_and_told() -> None:
    """A bar an hour; the least hour of a line from 1 to 24 is the first, with 1/24."""
    made = drawn([hour / 24 for hour in range(1, 25)])
    assert made.count("<rect") == 24
    assert "busiest at 23:00, least at 0:00 with 4% of that" in made


def test_a_price_is_of_a_gpu_and_goes_with_it() -> None:
    form = moved(values(), plan_moves.after_setting(values(), "price.l40s", "0,79"))
    assert form["prices"] == "l40s:0.79"
    assert moved(form, plan_moves.without_gpu(form, "l40s"))["prices"] == ""


def test_nothing_was_measured_on_a_gpu_that_is_taken_away() -> None:
    form = values(service__2="b", measured_gpu="h100-sxm", measured_gpu__2="l40s")
    fewer = moved(form, plan_moves.without_gpu(form, "l40s"))
    assert (fewer["measured_gpu"], fewer["measured_gpu-2"]) == ("h100-sxm", "")


@pytest.mark.parametrize("key", ["service", "service-8", "patience_5-3", "plan_gpus", "at"])
def test_a_key_says_whose_input_it_is(key: str) -> None:
    name, place = place_of(key)
    assert at(name, place) == key
