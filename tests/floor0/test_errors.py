"""Errors say what, what was given, what is allowed, and what was probably meant."""

from __future__ import annotations

import pytest

from bide.errors import BadInput, BideError, CannotBeMet, UnknownArchitecture, UnknownName, check_keys, nearest


def test_bad_input_names_field_value_allowed_and_hint() -> None:
    error = BadInput("tp", 3, "a divisor of 32", "use 2 or 4")
    assert str(error) == "tp: got 3; allowed: a divisor of 32. Use 2 or 4"
    assert error.to_dict() == {"field": "tp", "message": str(error)}


def test_a_huge_value_is_shown_by_its_beginning() -> None:
    assert len(str(BadInput("model", "x" * 10**7, "a name"))) < 200


def test_unknown_names_suggest_the_nearest() -> None:
    assert "did you mean h100-sxm" in str(UnknownName("gpu", "h100-sxn", ["h100-sxm", "l4"], "a GPU")).lower()
    assert "mean" not in str(UnknownName("gpu", "zzz", ["h100-sxm"], "a GPU"))


def test_nearest_is_quick_on_hostile_names() -> None:
    assert nearest("a" * 10**7, ["h100-sxm"] * 3) == []


def test_exit_codes_tell_bad_input_from_no() -> None:
    assert BadInput("a", 1, "b").exit_code == UnknownArchitecture("a", 1, "b").exit_code == 2
    assert CannotBeMet("no").exit_code == 1
    assert issubclass(UnknownName, BadInput)
    assert issubclass(CannotBeMet, BideError)


def test_an_unknown_key_is_named_with_its_place() -> None:
    check_keys({"engine": 1}, ["engine", "tp"], "deployment")
    with pytest.raises(UnknownName, match=r"^deployment\.engin: .*Did you mean engine"):
        check_keys({"engin": 1}, ["engine", "tp"], "deployment")
