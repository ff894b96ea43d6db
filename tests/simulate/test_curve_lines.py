"""The lines of `bide curve --batch`: every one is answered, in order, whatever stands in it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.resolving import KEYS
from bide.simulate.curve_lines import CurveLines, checked_load, checked_tokens
from bide.simulate.operating import Load, Mix, Point
from made_curves import point

GOOD: dict[str, object] = {
    "id": "a",
    "deployment": {"model": "llama-3.1-8b", "gpu": "h100-sxm"},
    "prompt_tokens": 1000,
    "output_tokens": 500,
    "concurrency": 8,
}


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points of `made_curves`; 13 clients cannot be answered."""

    def points(
        asked: Sequence[tuple[Deployment, Mix, Load]], profile: Path | None, *, records: bool, steps: str
    ) -> list[Point]:
        if profile is not None:
            raise BadInput("profile", str(profile), "a profile")
        if any(load.value == 13 for _deployment, _mix, load in asked):
            raise CannotBeMet("13 brings bad luck")
        return [point(load.value, kind=load.kind, mix=mix) for _deployment, mix, load in asked]

    monkeypatch.setattr("bide.simulate.curve.points", points)


def one(**changes: object) -> dict[str, object]:
    (answer,) = CurveLines()([{**GOOD, **changes}])
    return answer


def test_a_good_line_is_answered_with_its_id() -> None:
    answer = one(id=7)
    assert (answer["id"], answer["running_requests"]) == (7, 8)


def test_mean_lengths_need_not_be_whole() -> None:
    assert "error" not in one(prompt_tokens=239.6, output_tokens="8k")


@pytest.mark.parametrize("load", [{"requests_per_s": 0.5}, {"batch": 64}, {"concurrency": 1.5}])
def test_each_kind_of_load_is_taken(load: dict[str, float]) -> None:
    assert "error" not in one(**{"concurrency": None, **load})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"concurrency": None}, "concurrency"),
        ({"batch": 3}, "batch"),
        ({"concurrency": 0.5}, "concurrency"),
        ({"concurrency": math.nan}, "concurrency"),
        ({"concurrency": True}, "concurrency"),
        ({"concurrency": None, "requests_per_s": 0}, "requests_per_s"),
        ({"concurrency": None, "requests_per_s": 5e-324}, "requests_per_s"),
        ({"prompt_tokens": 0.5}, "prompt_tokens"),
        ({"output_tokens": 1e-320}, "output_tokens"),
        ({"concurrency": None, "batch": 1e400}, "batch"),
        ({"prompt_tokens": None}, "prompt_tokens"),
        ({"prompt_tokens": -1}, "prompt_tokens"),
        ({"output_tokens": 10**400}, "output_tokens"),
        ({"output_tokens": "many"}, "output_tokens"),
        ({"deployment": None}, "deployment"),
        ({"deployment": {"model": "llama-3.1-8b", "gpux": "l4"}}, "deployment.gpux"),
        ({"deployment": {"model": "llama-3.1-8b", "pool_bytes_per_gpu": 1e10}}, "gpu"),
        ({"deployment": {"model": "llama-3.1-8b", "gpu": "l4", "tp": 3}}, "tp"),
        ({"id": math.nan}, "id"),
    ],
)
def test_a_bad_line_names_its_field(changes: dict[str, object], field: str) -> None:
    error = one(**changes)["error"]
    assert isinstance(error, dict)
    assert error["field"] == field


def test_an_unknown_key_gets_the_nearest() -> None:
    error = one(promt_tokens=5)["error"]
    assert isinstance(error, dict)
    assert "Did you mean prompt_tokens" in error["message"]


def test_bad_lines_stand_in_their_places_and_stop_nothing() -> None:
    lines: list[object] = [{**GOOD, "id": n, "concurrency": n + 1} for n in range(20)]
    lines[3] = [1]
    answers = CurveLines()(lines)
    assert [n for n, answer in enumerate(answers) if "error" in answer] == [3, 12]
    assert answers[12] == {"id": 12, "error": {"field": "deployment", "message": "13 brings bad luck"}}
    assert [a["running_requests"] for a in answers if "error" not in a] == [n for n in range(1, 21) if n not in (4, 13)]


def test_a_profile_that_cannot_be_used_is_an_error_of_the_whole_batch() -> None:
    with pytest.raises(BadInput, match="profile"):
        CurveLines(Path("missing.json"))([GOOD])


def test_a_deployment_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    resolve = Deployment.resolve
    monkeypatch.setattr(Deployment, "resolve", lambda raw: (seen.append(raw), resolve(raw))[1])
    lines = CurveLines()
    lines([GOOD, {**GOOD, "concurrency": 9}])
    lines([{**GOOD, "deployment": {"model": "llama-3.1-8b", "gpu": "l4"}}, GOOD])
    assert len(seen) == 2


def test_a_bad_deployment_is_refused_each_time() -> None:
    bad = {**GOOD, "deployment": {"model": "llama-3.1-8b", "gpu": "h1000"}}
    assert all("error" in answer for answer in CurveLines()([bad, bad]))


@pytest.mark.parametrize("text", ["nan", "many", "", "1e400"])
def test_what_is_allowed_is_said_for_text_too(text: str) -> None:
    with pytest.raises(BadInput, match=r"from 1 to 1,000,000,000, such as 1000, 239\.6 or 8k"):
        checked_tokens(text, "prompt")


def test_numbers_may_be_text() -> None:
    assert checked_tokens("239.6", "prompt") == 239.6
    assert checked_load("batch", "64", "batch") == Load("batch", 64.0)


HOSTILE = st.sampled_from(
    [None, True, 0, -1, 3, 8, 10**6, 10**18, 10**400, 0.5, 1e308, math.nan, -math.inf, "", "8k", "\ud800", [], [[]], {}]
)
OPTIONAL = ("id", "prompt_tokens", "output_tokens", "concurrency", "requests_per_s", "batch", "x")
LINES = st.fixed_dictionaries(
    {"deployment": st.dictionaries(st.sampled_from(KEYS), HOSTILE, max_size=2) | HOSTILE},
    optional=dict.fromkeys(
        ("id", "prompt_tokens", "output_tokens", "concurrency", "requests_per_s", "batch", "x"), HOSTILE
    ),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES | HOSTILE, max_size=4))
def test_any_line_is_answered_in_strict_json(lines: list[object]) -> None:
    answers = CurveLines()([_whole(line) for line in lines])
    assert json.loads(json.dumps(answers, allow_nan=False)) == answers
    assert len(answers) == len(lines)


def _whole(line: object) -> object:
    """The line with what it does not say filled in, so that one bad value is met alone."""
    if not isinstance(line, dict) or not isinstance(line.get("deployment"), dict):
        return line
    return {**GOOD, **line, "deployment": {"model": "qwen3-8b", "gpu": "h100-sxm", **line["deployment"]}}
