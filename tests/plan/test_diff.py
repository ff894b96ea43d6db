"""Which change of a question did how much to its answer; the answers here are an arithmetic of their own."""

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.plan.changes import Change, moves
from bide.plan.diff import Effect, PlanDiff, Side, differences
from bide.plan.outcome import Outcome, Ran, outcome_of
from bide.plan.question import Question
from bide.plan.recorded import read_side, recorded_changes
from bide.plan.service_file import read_question
from bide.report.plan_diff import diff_dict, diff_markdown, effects_table, endnotes, sentence

Write = Callable[..., Path]
Edit = Callable[[dict[str, Any]], object]


def answer(question: Question) -> Outcome:
    """A GPU for 10 requests/s, two where the patience is below 1 s; the price of the first GPU, 730 h a month."""
    if "tp" in question.services[0].engine and question.services[0].model.name.endswith("other.json"):
        raise BadInput("tp", 3, "not with this model")
    gpus = 0
    for service in question.services:
        each = 2 if service.patience[0].seconds < 1 else 1
        gpus += each * math.ceil(service.traffic.planned_rps / 10)
    if gpus > question.hardware.max_gpus:
        return Outcome(False, None, None, None, tuple(Ran(s.name, "", None) for s in question.services))
    usd = 730 * gpus * question.hardware.prices.get("h100-sxm", 3.0) * question.hardware.price_multiplier
    return Outcome(True, gpus, gpus, usd, tuple(Ran(s.name, f"{gpus} x h100-sxm", gpus) for s in question.services))


def asked(write: Write, *edits: Edit) -> Question:
    def change(content: dict[str, Any]) -> None:
        for edit in edits:
            edit(content)

    return read_question(write(change))


def service(**keys: object) -> Edit:
    return lambda content: content["services"][0].update(keys)


def traffic(**keys: object) -> Edit:
    return lambda content: content["services"][0]["traffic"].update(keys)


def hardware(**keys: object) -> Edit:
    return lambda content: content["hardware"].update(keys)


def compared(old: Question, new: Question) -> PlanDiff:
    return differences(Side("old.yaml", old), Side("new.yaml", new), answer)


def test_each_change_has_its_own_effect_in_a_fixed_order(write: Write) -> None:
    old = asked(write)  # 12 x 1.5 = 18 requests/s: 2 GPUs
    new = asked(write, hardware(price_multiplier=0.5), traffic(margin=2.5), traffic(peak_rps=20))
    diff = compared(old, new)
    # peak 20 x 1.5 = 30: 3 GPUs; margin 20 x 2.5 = 50: 5 GPUs; then half the price
    assert [(e.changes[0].input, e.gpus) for e in diff.effects] == [("peak", 1), ("margin", 2), ("prices", 0)]
    assert sum(e.usd_per_month or 0 for e in diff.effects) == pytest.approx(diff.whole.usd_per_month)
    assert diff.effects[2].usd_per_month == pytest.approx(-0.5 * 5 * 2.95 * 730)
    # 2 x 2.95 x 730 = 4,307; 5 x 2.95 x 730 / 2 = 5,384
    assert sentence(diff) == (
        "From old.yaml to new.yaml: 5 GPUs at $5,384 a month instead of 2 GPUs at $4,307 a month "
        "(+3 GPUs, +$1,077 a month)."
    )
    assert [row[3:5] for row in effects_table(diff)[1]] == [["+1", "+$2,154"], ["+2", "+$4,307"], ["0", "-$5,384"]]


def test_the_same_question_has_no_changes(write: Write) -> None:
    diff = compared(
        asked(write), asked(write, traffic(peak_rps=12.0), service(patience={"tpot_p95": 0.05, "ttft_p95": 1}))
    )
    assert [change.input for change in diff.changes] == ["patience"]  # in another order
    assert compared(asked(write), asked(write)).changes == ()
    assert sentence(compared(asked(write), asked(write))).endswith("nothing changed, 2 GPUs at $4,307 a month.")


@pytest.mark.parametrize(
    ("edit", "service_name", "name", "old", "new"),
    [
        (service(name="talk"), "talk", "name", "chat", "talk"),
        (service(patience={"e2e_p95": "5s"}), "chat", "patience", "ttft_p95 1 s, tpot_p95 50 ms", "e2e_p95 5 s"),
        (
            service(deployment={"kv_dtype": ["auto", "fp8"]}),
            "chat",
            "deployment",
            "left to the plan",
            "kv_dtype auto|fp8",
        ),
        (service(disaggregated=True), "chat", "deployment", "left to the plan", "disaggregated"),
        (service(disaggregated=[False, True]), "chat", "deployment", "left to the plan", "disaggregated or not"),
        (service(api_price={"input": 1, "output": 2}), "chat", "API price", "none", "$1 + $2"),
        (traffic(growth="20%"), "chat", "growth", "x 1", "x 1.2"),
        (traffic(hours=[1] * 24), "chat", "hours", "not known", "mean 100% of the peak"),
        (traffic(users=1000), "chat", "users", "0", "1,000"),
        (hardware(gpus=["h100-sxm", "l40s"]), "", "GPUs", "h100-sxm", "h100-sxm, l40s"),
        (hardware(max_gpus=9), "", "most GPUs", "64", "9"),
        (
            hardware(price_multiplier=0.5, price_note="spot"),
            "",
            "prices",
            "h100-sxm $2.95",
            "h100-sxm $2.95, x 0.5 (spot)",
        ),
        (lambda content: content.update(fleet={"scale_up": "1min"}), "", "scale up", "300 s", "60 s"),
        (lambda content: content.update(fleet={"share": False}), "", "share", "yes", "no"),
    ],
)
def test_a_change_is_said_in_words(write: Write, edit: Edit, service_name: str, name: str, old: str, new: str) -> None:
    (move,) = moves(asked(write), asked(write, edit))
    assert move.change == Change(service_name, name, old, new)


def test_lengths_that_differ_are_one_change(write: Write) -> None:
    lengths = {"prompt": {"p50": 500, "p95": 4000}, "output": {"p50": 150, "p95": 500}}
    (move,) = moves(asked(write), asked(write, service(workload={"lengths": lengths})))
    assert move.change.input == "workload"


def test_a_service_that_came_and_one_that_went(write: Write) -> None:
    def mail(content: dict[str, Any]) -> None:
        content["services"].append(copy.deepcopy(content["services"][0]) | {"name": "mail"})

    one, both = asked(write), asked(write, mail)
    assert [(e.changes[0].service, e.gpus) for e in compared(one, both).effects] == [("mail", 2)]
    assert [(e.changes[0].service, e.gpus) for e in compared(both, one).effects] == [("mail", -2)]


def test_changes_that_make_no_sense_alone_are_taken_together(write: Write, tmp_path: Path) -> None:
    path = write()
    (tmp_path / "other.json").write_text((tmp_path / "llama.json").read_text(encoding="utf-8"), encoding="utf-8")
    old = read_question(path)
    assert answer(old)
    new = asked(write, service(model="./other.json", patience={"e2e_p95": "0.5s"}))
    between = asked(write, service(deployment={"tp": 2}))
    diff = compared(between, new)  # the model alone, with tp, cannot be asked: it waits until tp is gone
    assert [[change.input for change in effect.changes] for effect in diff.effects] == [
        ["model", "patience", "deployment"]
    ]
    assert any("no sense alone" in note for note in endnotes(diff))
    assert [row[3] for row in effects_table(diff)[1]] == ["", "", "+2"]


def test_what_cannot_be_met_has_no_figures(write: Write) -> None:
    diff = compared(asked(write), asked(write, traffic(peak_rps=900)))
    assert diff.whole.gpus is None
    assert sentence(diff) == "From old.yaml to new.yaml: cannot be met, where it was 2 GPUs at $4,307 a month."
    assert effects_table(diff)[1][0][3:] == ["?", "?", "cannot be met"]
    assert json.dumps(diff_dict(diff), allow_nan=False)


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(["peak", "margin", "growth", "patience", "price"]), unique=True),
    st.integers(1, 40),
)
def test_effects_add_up_to_the_whole(tmp_path_factory: pytest.TempPathFactory, keys: list[str], number: int) -> None:
    import yaml

    from plan_inputs import FILE, LLAMA

    folder = tmp_path_factory.mktemp("diff")
    (folder / "llama.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    edits = {
        "peak": traffic(peak_rps=number),
        "margin": traffic(margin=1 + number / 10),
        "growth": traffic(growth=1 + number / 10),
        "patience": service(patience={"e2e_p95": number / 20}),
        "price": hardware(prices={"h100-sxm": number}),
    }
    questions = []
    for chosen in ([], keys):
        content = copy.deepcopy(FILE) | {"hardware": {"gpus": ["h100-sxm"], "max_gpus": 10_000}}
        for key in chosen:
            edits[key](content)
        path = folder / "service.yaml"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        questions.append(read_question(path))
    diff = compared(*questions)
    assert sum(effect.gpus or 0 for effect in diff.effects) == diff.whole.gpus
    assert sum(effect.usd_per_month or 0 for effect in diff.effects) == pytest.approx(diff.whole.usd_per_month)
    assert diff.effects == () or diff.effects[-1].after == diff.whole.after


def plan_json(question: Question | None, outcome: Outcome) -> dict[str, Any]:
    """A plan as `bide plan --json` prints it, as far as a comparison reads it."""
    chosen = {"gpu": "h100-sxm", "replica_gpus": 2, "replicas": 1, "gpus": outcome.gpus}
    data: dict[str, Any] = {
        "schema": "bide.plan/1",
        "feasible": outcome.feasible,
        "gpus": outcome.gpus,
        "gpus_surely": outcome.gpus_surely,
        "usd_per_month": outcome.usd_per_month,
        "hardware": {"gpus": ["h100-sxm"], "max_gpus": 64},
        "services": [
            {
                "name": "chat",
                "model": "llama",
                "workload": {"prompt_tokens": {"mean": 1400.0}, "output_tokens": {"mean": 190.0}},
                "traffic": {"peak_rps": 12, "margin": 1.5},
                "patience": {"e2e_p95": 5.0},
                "chosen": chosen,
            }
        ],
    }
    return data | ({"question": {"given": dict(question.given), "flags": []}} if question else {})


def save(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_json_plan_is_asked_again_and_what_bide_changed_is_its_own_step(write: Write, tmp_path: Path) -> None:
    question = asked(write)
    before = Outcome(True, 4, 4, 8614.0, ())
    old, data = read_side(save(tmp_path / "old.json", plan_json(question, before)), "OLD")
    assert data is not None
    assert old.recorded is not None
    assert old.recorded.services == (Ran("chat", "2 x (2 x h100-sxm)", 4),)
    new, _none = read_side(write(traffic(margin=2)), "NEW")  # 12 x 2 = 24 requests/s: 3 GPUs
    diff = differences(old, new, answer)
    assert [(e.changes[0].input, e.gpus) for e in diff.effects] == [
        ("bide, its catalogue and step times", -2),
        ("margin", 1),
    ]
    assert diff.whole.gpus == -1


def test_a_json_plan_without_its_question_is_compared_as_recorded(write: Write, tmp_path: Path) -> None:
    outcome = Outcome(True, 4, 4, 8614.0, ())
    later = plan_json(None, Outcome(True, 5, 5, 9000.0, ()))
    later["services"][0]["traffic"]["margin"] = 2
    one, old = read_side(save(tmp_path / "old.json", plan_json(None, outcome)), "OLD")
    other, new = read_side(save(tmp_path / "new.json", later), "NEW")
    assert old is not None
    assert new is not None
    diff = differences(one, other, answer, recorded_changes(old, new))
    assert diff.changes == (Change("chat", "margin", "1.5", "2"),)
    assert (diff.explained, diff.whole.gpus) == (False, 1)
    assert "old.json does not hold its question" in endnotes(diff)[0]
    assert effects_table(diff)[1] == [["chat: margin", "1.5", "2", "", "", ""]]
    assert "margin" in diff_markdown(diff)


def test_a_json_plan_whose_trace_is_gone_is_compared_as_recorded(write: Write, tmp_path: Path) -> None:
    question = asked(write)
    (tmp_path / "llama.json").unlink()
    side, _data = read_side(save(tmp_path / "old.json", plan_json(question, Outcome(True, 4, 4, 1.0, ()))), "OLD")
    assert side.question is None
    assert "can't be asked again" in side.why_not


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"a": "a"}, r"^OLD: got '.*plan.json'; allowed: a service file, or what .*It has no schema"),
        ({"schema": "bide.memory/1"}, "schema bide.plan/1.*Its schema is bide.memory/1"),
        ({"schema": "bide.plan/1"}, "'feasible' is missing or wrong"),
        ({"schema": "bide.plan/1", "feasible": True, "gpus": "x"}, "missing or wrong"),
        ({"schema": "bide.plan/1", "feasible": False, "services": [{"name": "a"}]}, "'chosen' is missing"),
        ({"services": 3}, "hardware missing"),
        ([1], "a mapping with keys"),
    ],
)
def test_json_that_is_no_plan_is_one_error(tmp_path: Path, content: object, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_side(save(tmp_path / "plan.json", content), "OLD")


@pytest.mark.parametrize("name", ["none.yaml", "."])
def test_what_is_no_file_is_one_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="service file"):
        read_side(tmp_path / name, "OLD")


def test_infinite_figures_are_refused() -> None:
    data = plan_json(None, Outcome(True, 4, 4, math.inf, ()))
    with pytest.raises(BadInput, match="Inf is missing or wrong"):
        outcome_of(data, "OLD", "old.json")


def test_fleets_that_are_shared_or_mixed_are_said() -> None:
    def fleet(gpu: str, gpus: int) -> dict[str, Any]:
        return {"gpu": gpu, "replica_gpus": 1, "gpus": gpus}

    data = plan_json(None, Outcome(True, 5, 5, 1.0, ()))
    data["services"][0]["mixed"] = {"gpus": 3, "short": fleet("l40s", 2), "long": fleet("h100-sxm", 1)}
    (ran,) = outcome_of(data, "OLD", "old.json").services
    assert ran == Ran("chat", "2 x l40s for short requests, 1 x h100-sxm for long ones", 3)
    data["shared"] = [{"services": ["mail", "chat"], **fleet("h100-sxm", 5)}]
    (ran,) = outcome_of(data, "OLD", "old.json").services
    assert ran == Ran("chat", "5 x h100-sxm, shared with mail", 5)


@pytest.mark.parametrize("key", ["workload", "traffic", "patience", "model"])
def test_a_recorded_service_of_other_types_is_one_error_at_most(key: str) -> None:
    old, new = (plan_json(None, Outcome(True, 4, 4, 1.0, ())) for _side in range(2))
    for wrong in (None, 3, "x", [1], {"e2e_p95": "soon", "prompt_tokens": {"mean": "many"}}):
        new["services"][0][key] = wrong
        try:
            recorded_changes(old, new)
        except BadInput as error:
            assert "bide plan --json" in str(error)


def test_a_question_nested_without_end_is_not_asked_again(tmp_path: Path) -> None:
    data = plan_json(None, Outcome(True, 4, 4, 1.0, ()))
    deep: dict[str, Any] = {}
    for _level in range(400):
        deep = {"services": deep}
    side, _data = read_side(save(tmp_path / "old.json", data | {"question": {"given": deep}}), "OLD")
    assert side.question is None


def test_from_and_to_are_never_alike() -> None:
    # a trace of another content under the same name; long names that differ at their end, and in their midst
    changes = (
        Change("chat", "workload", "trace t.csv", "trace t.csv"),
        Change("", "b", "x" * 70 + "1", "x" * 70 + "2"),
        Change("", "c", "x" * 70 + "1" + "y" * 70, "x" * 70 + "2" + "y" * 70),
    )
    one = Outcome(True, 1, 1, 1.0, ())
    effect = Effect(changes, one, one)
    same, long, midst = effects_table(PlanDiff("a/s.yaml", "b/s.yaml", effect, (effect,)))[1]
    assert same[1:3] == ["trace t.csv", "trace t.csv (other contents)"]
    assert (long[1], long[2]) == ("…" + "x" * 20 + "1", "…" + "x" * 20 + "2")
    assert midst[1] == "…" + "x" * 20 + "1" + "y" * 37 + "…"
    assert midst[2] == midst[1].replace("1", "2")
