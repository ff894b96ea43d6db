"""`bide curve` as its users call it, on curves made by hand; the model's own numbers are tested where they are made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bide.cli.main import main
from bide.errors import CannotBeMet
from bide.facts.deployment import Deployment
from bide.simulate.operating import Curve, Load, Mix, Point
from made_curves import curve, point, unstable

H100 = ("curve", "llama-3.1-8b", "--gpu", "h100-sxm")
ASKED: list[tuple[Deployment, Mix, Sequence[Load] | None, Path | None]] = []
"""What the model was asked since the test began."""


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model for which an L4 is too small, and 20 requests a second too many."""
    ASKED.clear()

    def curves_of(
        asked: Sequence[tuple[Deployment, Mix]],
        loads: Sequence[Load] | None = None,
        profile: Path | None = None,
        steps: str = "roofline",
    ) -> list[Curve | CannotBeMet]:
        ASKED.extend((deployment, mix, loads, profile) for deployment, mix in asked)
        return [_curve(deployment, mix, loads) for deployment, mix in asked]

    def points(
        asked: Sequence[tuple[Deployment, Mix, Load]], profile: Path | None, *, records: bool, steps: str
    ) -> list[Point]:
        return [point(load.value, kind=load.kind, mix=mix) for _deployment, mix, load in asked]

    def pareto(curves: Sequence[Curve]) -> set[tuple[int, int]]:
        return {(number, 0) for number in range(len(curves))}

    monkeypatch.setattr("bide.simulate.curve.curves_of", curves_of)
    monkeypatch.setattr("bide.simulate.curve.points", points)
    monkeypatch.setattr("bide.simulate.curve.pareto", pareto)


def _curve(deployment: Deployment, mix: Mix, loads: Sequence[Load] | None) -> Curve | CannotBeMet:
    if deployment.gpu and deployment.gpu.id == "l4":
        return CannotBeMet("an L4 is too small")
    made = replace(curve(mix=mix), deployment=deployment)
    return made if loads is None else replace(made, points=tuple(map(_point, loads)), knee=None)


def _point(load: Load) -> Point:
    if load.kind == "requests_per_s" and load.value >= 20:
        return unstable(load.value)
    return point(load.value, kind=load.kind)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(args)
    out, err = capsys.readouterr()
    return code, out, err


def test_text_answers_in_the_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, *H100, "--prompt", "1000", "--output", "500")
    assert code == 0
    assert out.startswith("At the knee, 32 clients at once: a token every 11 ms")
    assert "* knee" not in out  # the front of this model is its first point
    assert "knee" in out
    assert ASKED[0][1:] == (Mix(1000, 500), None, None)


def test_what_nobody_said_is_assumed_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    _code, out, _err = run(capsys, *H100)
    assert "Assumed: prompt = 1000, output = 500" in out


def test_json_has_the_keys_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, *H100, "--gpu", "l4", "--json", "--concurrency", "1,8")
    answer = json.loads(out)
    assert code == 0
    assert answer["schema"] == "bide.curve/1"
    (found,) = answer["curves"]
    assert [p["load"] for p in found["points"]] == [{"concurrency": 1}, {"concurrency": 8}]
    assert found["points"][1]["tpot_s"] == pytest.approx(0.0072)
    assert answer["not_shown"] == [{"name": "l4", "reason": "an L4 is too small"}]


def test_loads_are_read_and_put_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *H100, "--rate", "2,0.5,2")
    assert ASKED[-1][2] == (Load("requests_per_s", 0.5), Load("requests_per_s", 2.0))
    run(capsys, *H100, "--batch-size", "256")
    assert ASKED[-1][2] == (Load("batch", 256.0),)


def test_gpus_and_settings_multiply(capsys: pytest.CaptureFixture[str]) -> None:
    args = (*H100, "--gpu", "h200-sxm", "--vary", "tp=1,2", "--vary", "kv-dtype=auto,fp8")
    code, out, _err = run(capsys, *args)
    assert code == 0
    found = [(d.gpu.id if d.gpu else "", d.tp, d.kv_dtype) for d, *_rest in ASKED]
    assert len(set(found)) == 8
    assert "2 x h200-sxm (TP2), kv_dtype fp8" in out


def test_switches_sizes_and_models_vary_as_their_flags_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "curve", "--gpu", "h100-sxm", "--vary", "model=llama-3.1-8b,qwen3-8b", "--vary", "enforce-eager=yes,no")
    assert [(d.model.name, d.enforce_eager) for d, *_rest in ASKED] == [
        ("meta-llama/Llama-3.1-8B", True),
        ("meta-llama/Llama-3.1-8B", False),
        ("Qwen/Qwen3-8B", True),
        ("Qwen/Qwen3-8B", False),
    ]
    run(capsys, *H100, "--vary", "max-model-len=8k")
    assert ASKED[-1][0].max_model_len == 8192


def test_gpus_are_split_where_only_their_number_varies(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *H100, "--vary", "gpus=2,4")
    assert [d.tp for d, *_rest in ASKED] == [2, 4]


def test_what_is_named_twice_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *H100, "--gpu", "h100-sxm", "--vary", "tp=1,1")
    assert len(ASKED) == 1


def test_mixes_pair_up(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *H100, "--prompt", "1000", "--prompt", "8k", "--output", "500", "--mix", "239.6:345")
    assert [mix for _d, mix, *_rest in ASKED] == [Mix(1000, 500), Mix(8192, 500), Mix(239.6, 345)]


def test_a_profile_is_handed_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, *H100, "--profile", "mine.json")
    monkeypatch.setenv("BIDE_PROFILE", "theirs.json")
    run(capsys, *H100)
    assert [str(profile) for *_rest, profile in ASKED] == ["mine.json", "theirs.json"]


def test_what_does_not_fit_exits_1_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "curve", "llama-3.1-8b", "--gpu", "l4")
    assert (code, out, err) == (1, "", "error: an L4 is too small\n")


def test_among_several_the_others_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, *H100, "--gpu", "l4")
    assert code == 0
    assert "Not shown: l4. an L4 is too small." in out


def test_none_that_fits_exits_1_with_every_reason(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "curve", "llama-3.1-8b", "--gpu", "l4", "--vary", "tp=1,2")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 2
    assert "2 x l4 (TP2): an L4 is too small" in err


def test_a_load_that_cannot_be_held_exits_1_unless_another_can(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *H100, "--rate", "30")
    assert code == 1
    assert out.startswith("30 requests/s cannot be held: at most 8.17 requests/s")
    assert "the load cannot be held" in err
    assert run(capsys, *H100, "--rate", "2,30")[0] == 0


def test_explain_shows_where_the_time_goes(capsys: pytest.CaptureFixture[str]) -> None:
    _code, out, _err = run(capsys, *H100, "--explain", "--concurrency", "8")
    assert "Where the time goes: h100-sxm with 8 clients" in out
    assert "(Little's law)" in out


@pytest.mark.parametrize("flag", ["-o", "--report", "--output"])
def test_the_report_may_be_named_by_any_of_its_flags(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, flag: str
) -> None:
    file = tmp_path / "curve.csv"
    code, _out, err = run(capsys, *H100, "--output", "300", flag, str(file))
    assert code == 0
    assert file.read_text().startswith("model,gpu,")
    assert str(file) in err
    assert ASKED[0][1].output_tokens == 300


@pytest.mark.parametrize(
    ("suffix", "magic"),
    [
        (".png", b"\x89PNG"),
        (".svg", b"<svg"),
        (".html", b"<!doctype"),
        (".md", b"**At the knee"),
        (".csv", b"model,"),
        (".json", b'{\n  "schema": "bide.curve/1"'),
    ],
)
def test_reports_are_written(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str, magic: bytes) -> None:
    file = tmp_path / f"curve{suffix}"
    code, _out, _err = run(capsys, *H100, "-o", str(file))
    assert code == 0
    assert file.read_bytes().startswith(magic)


def test_a_report_that_cannot_be_drawn_hides_no_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _out, err = run(capsys, "curve", "llama-3.1-8b", "--gpu", "l4", "-o", str(tmp_path / "none.html"))
    assert (code, err) == (1, "error: an L4 is too small\n")
    code, _out, err = run(capsys, *H100, "--rate", "30", "-o", str(tmp_path / "none.png"))
    assert (code, err) == (1, "error: the load cannot be held\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("width", ["80", "108"])
def test_the_answer_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    _code, out, _err = run(capsys, *H100)
    prose = [line for line in out.splitlines() if line and not line.startswith((" ", "─", "clients"))]
    assert max(map(len, prose)) <= int(width)
    if width == "108":
        assert max(map(len, out.splitlines())) <= 108


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("curve",), "model"),
        (("curve", "llama-3.1-8b"), "gpu"),
        (("curve", "llama-3.1-8b", "--pool-bytes-per-gpu", "40GB"), "gpu"),
        (("curve", "llama-3.1-8b", "--gpu", "h1000"), "Did you mean"),
        ((*H100, "--vary", "tpp=1,2"), "Did you mean tp"),
        ((*H100, "--vary", "tp=one"), "tp: got 'one'"),
        ((*H100, "--vary", "tp"), "tp=1,2,4"),
        ((*H100, "--vary", "gpu=l40s"), "--gpu may be repeated"),
        ((*H100, "--vary", "model=qwen3-8b"), "vary: got 'model'; allowed: each flag once"),
        ((*H100, "--tp", "2", "--vary", "tp=1,2"), "vary: got 'tp'"),
        ((*H100, "--vary", "tp=1,2", "--vary", "tp=4"), "vary: got 'tp'"),
        ((*H100, "--vary", "enforce-eager=yes,"), "vary: got 'enforce-eager=yes,'"),
        ((*H100, "--vary", "tp=1,2,4,8", "--vary", "max-num-seqs=1,2,4,8,16"), "at most 16 curves"),
        ((*H100, "--vary", "tp=3"), "tp"),
        ((*H100, "--output", "many"), "output"),
        ((*H100, "--prompt", "nan"), "prompt"),
        ((*H100, "--prompt", "1", "--prompt", "2", "--output", "1", "--output", "2", "--output", "3"), "--prompt (2)"),
        ((*H100, "--mix", "1000"), "1000:500"),
        ((*H100, "--mix", "1000:"), "mix: got ''"),
        ((*H100, "--concurrency", "0"), "concurrency"),
        ((*H100, "--concurrency", "1,,2"), "concurrency"),
        ((*H100, "--rate", "-1"), "rate"),
        ((*H100, "--rate", "1e-320"), "rate: got '1e-320'; allowed: a number from 1e-09"),
        ((*H100, "--concurrency", "1", "--rate", "2"), "rate: got '2'; allowed: one kind of load"),
        ((*H100, "-o", "500"), "--output 500 says how many tokens"),
        ((*H100, "-o", "curve.pdf"), "output"),
        ((*H100, "-o", "a.html", "--output", "b.html"), "one file"),
        (("curve", "--batch", "missing.jsonl"), "batch"),
        (("curve", "--batch", "-", "--prompt", "5"), "prompt: got ('5',); allowed: nothing beside --batch"),
        (("curve", "--batch", "-", "--gpu", "l4"), "gpu"),
    ],
)
def test_bad_input_exits_2_and_names_the_field(
    capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    code, out, err = run(capsys, *args)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_a_batch_answers_every_line_in_order_over_many_chunks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good = {"deployment": {"model": "llama-3.1-8b", "gpu": "h100-sxm"}, "prompt_tokens": 1000, "output_tokens": 500}
    lines = [json.dumps({"id": n, **good, "concurrency": 1 + n % 64}) for n in range(4500)]
    lines[7], lines[2001] = "not json", "{}"
    answers = batch(capsys, tmp_path, *lines[:10], "", *lines[10:])
    assert [n for n, answer in enumerate(answers) if "error" in answer] == [7, 2001]
    assert [answer["id"] for answer in answers if "error" not in answer] == [
        n for n in range(4500) if n not in (7, 2001)
    ]
    assert answers[4499]["running_requests"] == 1 + 4499 % 64


def test_a_batch_of_lines_that_nobody_can_read_is_answered_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answers = batch(capsys, tmp_path, "[" * 100000, '"' + "x" * 2**20 + '"', '{"deploymnt": {}}')
    assert all("error" in answer for answer in answers)
    assert "longer than 1,048,576" in answers[1]["error"]["message"]


def batch(capsys: pytest.CaptureFixture[str], tmp_path: Path, *lines: str) -> list[dict[str, Any]]:
    file = tmp_path / "batch.jsonl"
    file.write_text("\n".join(lines) + "\n")
    assert main(["curve", "--batch", str(file), "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]
