"""Profiles from files: what is read, what is refused, and where they are looked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bide.errors import BadInput
from bide.physics.profile import METRICS, SCHEMA, VARIABLE, Profile, Spread, load_profile, profile_dict

ENDS = dict.fromkeys(METRICS, 0.1)
SPREAD = dict.fromkeys(("near", "model", "gpu"), Spread(ENDS, ENDS))
SEEN: dict[str, tuple[str, ...]] = {"gpus": ("h100-sxm",), "models": ()}
MADE = Profile("made", "2026-01-02", {"bandwidth.hopper": 0.9}, SPREAD, SEEN, "two points")
TERMS = {"bandwidth.hopper": {"value": 0.9, "unit": "share"}}


def record(**changes: object) -> dict[str, Any]:
    return json.loads(json.dumps(profile_dict(MADE, TERMS))) | changes  # type: ignore[no-any-return]


def with_ends(**low: object) -> dict[str, Any]:
    """A record whose spread has other low ends."""
    ends = {"low": ENDS | low, "high": ENDS}
    return record(spread=dict.fromkeys(("near", "model", "gpu"), ends))


def written(tmp_path: Path, what: object) -> Path:
    path = tmp_path / "profile.json"
    path.write_text(what if isinstance(what, str) else json.dumps(what))
    return path


def test_a_profile_survives_its_file(tmp_path: Path) -> None:
    found = load_profile(written(tmp_path, record()))
    assert (found.name, found.date, found.summary, found.terms) == (MADE.name, MADE.date, MADE.summary, MADE.terms)
    assert found.seen == SEEN
    assert found.spread["near"].low == ENDS


def test_more_may_stand_in_the_file(tmp_path: Path) -> None:
    more = profile_dict(MADE, TERMS, source=["a table"])
    assert (more["schema"], more["source"]) == (SCHEMA, ["a table"])
    assert load_profile(written(tmp_path, more)).terms == MADE.terms


@pytest.mark.parametrize(
    "what",
    [
        "not JSON",
        "[]",
        "null",
        {"schema": SCHEMA},
        record(schema="bide.profile/0"),
        record(terms={"bandwidth.hopper": {"value": -0.9}}),
        record(terms={"bandwidth.hopper": {"value": float("inf")}}),
        record(terms={"bandwidth.hopper": {"value": float("nan")}}),
        record(terms={"bandwidth.hopper": {"value": "much"}}),
        record(terms={"bandwidth.hopper": {"value": True}}),
        record(terms={"bandwidth.hopper": {"value": 0}}),
        record(terms={"bandwidth.hopper": {"value": 1.01}}),
        record(terms={"fixed_s.vllm-v1": {"value": 1e300}}),
        record(terms={"fixed_s.vllm-v1": {"value": 10**400}}),
        record(terms={"bandwidth.hopper": 0.9}),
        with_ends(tpot_s="wide"),
        with_ends(tpot_s=float("nan")),
        with_ends(tpot_s=1000),
        record(spread={}),
        record(spread={"near": {"low": [1], "high": [1]}}),
        record(seen={"gpus": []}),
        record(terms={"draws": {"value": 1e6}}),
        "[" * 100_000,
        record(spread={"near": {"low": ENDS}}),
        record(spread=3),
        record(seen=None),
    ],
    ids=lambda what: str(what)[:100],
)
def test_a_file_that_is_no_profile_is_bad_input(tmp_path: Path, what: object) -> None:
    with pytest.raises(BadInput) as caught:
        load_profile(written(tmp_path, what))
    assert caught.value.field == "profile"
    assert "calibrate" in str(caught.value)


def test_a_part_that_is_missing_is_named(tmp_path: Path) -> None:
    spread = {name: {"low": {}, "high": ENDS} for name in ("near", "model", "gpu")}
    with pytest.raises(BadInput, match="It has no ttft_s"):
        load_profile(written(tmp_path, record(spread=spread)))


@pytest.mark.parametrize("what", ["missing.json", "."])
def test_a_file_that_cannot_be_read_is_bad_input(tmp_path: Path, what: str) -> None:
    with pytest.raises(BadInput, match="profile"):
        load_profile(tmp_path / what)


def test_a_file_that_is_no_text_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "profile.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="profile"):
        load_profile(tmp_path / "profile.json")


def test_the_variable_names_a_profile_and_a_path_goes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, record())
    assert load_profile().name != "made"
    monkeypatch.setenv(VARIABLE, str(path))
    assert load_profile().name == "made"
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing.json"))
    assert load_profile(path).name == "made"
    with pytest.raises(BadInput, match="profile"):
        load_profile()
    monkeypatch.setenv(VARIABLE, "")
    assert load_profile().name != "made"


def test_the_first_term_that_was_fitted_is_taken() -> None:
    assert MADE.term("bandwidth.none", "bandwidth.hopper") == 0.9
    with pytest.raises(BadInput, match=r"bandwidth\.none"):
        MADE.term("bandwidth.none")


def test_what_is_shipped_keeps_its_bounds() -> None:
    shipped = load_profile()
    shares = [
        value for name, value in shipped.terms.items() if name.split(".")[0] in ("bandwidth", "compute", "attention")
    ]
    assert all(0 < share <= 1 for share in shares)
    assert {"near", "model", "gpu"} <= shipped.spread.keys()
    for spread in shipped.spread.values():
        assert all(spread.low[metric] <= spread.high[metric] for metric in METRICS)
    assert {"gpus", "models"} <= shipped.seen.keys()
