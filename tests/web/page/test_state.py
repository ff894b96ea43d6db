"""What a visitor set: read from an address, checked, written back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput
from web_page import KEYS, fresh


def test_nothing_set_needs_no_address() -> None:
    assert fresh().query() == ""


def test_what_is_set_comes_back_from_its_address() -> None:
    state, other = fresh(), fresh()
    state.set("context", "32k")
    state.set("services", "chat:2k:100, code:8k:5")
    assert state.query() == "context=32768&services=chat:2048:100,code:8192:5"
    assert other.read(state.query()) == []
    assert other.frozen() == state.frozen()


def test_a_text_that_cannot_be_used_is_kept_with_its_error_and_changes_nothing() -> None:
    state = fresh()
    assert not state.set("tp", "two")
    assert (state.text("tp"), state["tp"]) == ("two", "1")
    assert "a whole number from 1 to 64" in state.error("tp")
    assert state.unread(["context", "tp"]) == ["tp"]
    state.set("tp", "2")
    assert state.unread(["tp"]) == []
    assert (state.text("tp"), state["tp"], state.error("tp")) == ("2", "2", "")


def test_an_empty_text_means_the_default() -> None:
    state = fresh()
    state.set("context", "2k")
    state.set("context", " ")
    assert state["context"] == "8192"


def test_whoever_watches_a_key_is_told_once_a_change() -> None:
    state, told = fresh(), []
    state.watch(["tp"], lambda: told.append(state["tp"]))
    for text in ("2", "2", "x", "4"):
        state.set("tp", text)
    assert told == ["2", "2", "4"]


def test_an_answer_s_error_stands_at_the_field_that_it_names() -> None:
    state = fresh()
    assert state.blame(BadInput("deployment.tp", 3, "a divisor of the heads"), KEYS)
    assert state.error("tp") == "allowed: a divisor of the heads"
    assert state.blame(None, KEYS)
    assert state.error("tp") == ""
    assert not state.blame(BadInput("engine", "x", "vllm"), KEYS)


@pytest.mark.parametrize(
    "query", ["tp=0", "gpu=h999", "nobody=1", "levers=magic", "gpus=", "services=a", "config=" + "A" * 9000]
)
def test_what_an_address_gets_wrong_is_told_by_its_name(query: str) -> None:
    state = fresh()
    wrong = state.read(query)
    assert state.query() == ""
    assert [text.startswith(query.partition("=")[0]) for text in wrong] == ([True] if query != "gpus=" else [])


@given(st.dictionaries(st.sampled_from(sorted(KEYS)), st.text(max_size=30), max_size=6), st.text(max_size=80))
def test_any_address_is_read_without_a_fault_and_what_was_taken_comes_back(values: dict[str, str], noise: str) -> None:
    state, again = fresh(), fresh()
    for name, text in values.items():
        state.set(name, text)
    state.read(noise)
    assert again.read(state.query()) == []
    assert again.frozen() == state.frozen()


def test_an_error_in_a_config_stands_where_it_was_dropped() -> None:
    state = fresh()
    assert state.blame(BadInput("config.json: model_type", "x", "a known type"), KEYS)
    assert state.error("config").startswith("config.json: model_type")
