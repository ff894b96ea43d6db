"""Numbers as people type them: points, commas and spaces, in the visitor's language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.i18n import numeral, speaking
from bide.web.page import checks, plan_checks, plan_moves, tab_plan
from bide.web.page.state import State
from bide.web.page.typed import plain_number

NUMBER = checks.number("rate", 0.001, 1e6)
LANGUAGES = ("en", "ru", "vi")


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(
    ("typed", "number"),
    [
        ("1,5", "1.5"), ("1.5", "1.5"), ("0,125", "0.125"), ("0.125", "0.125"), (",5", "0.5"), ("12,3456", "12.3456"),
        ("1.125", "1.125"), ("7.071", "7.071"), ("1 500", "1500"), ("12\u00a0345,5", "12345.5"), ("1’000", "1000"),
        ("1,234.5", "1234.5"), ("1.234,5", "1234.5"), ("123,456,7", None), ("1,2,3", None), ("1 5", None), ("", None),
        ("1,234,567", None), ("234,567", "234567"), ("1e3", "1000"), ("five", None),
    ],
)  # fmt: skip
def test_a_number_is_read_as_it_is_meant(code: str, typed: str, number: str | None) -> None:
    """One comma before three digits is the only case in which languages differ; see below. 1,234,567 is too large."""
    if (code, typed) in (("ru", "234,567"), ("vi", "234,567")):
        number = "234.567"
    with speaking(code):
        if number is None:
            with pytest.raises(BadInput):
                NUMBER(typed)
        else:
            assert NUMBER(typed) == number


@pytest.mark.parametrize(("code", "number"), [("en", "1500"), ("ru", "1.5"), ("vi", "1.5")])
def test_a_comma_before_three_digits_is_what_it_is_in_the_language(code: str, number: str) -> None:
    with speaking(code):
        assert NUMBER("1,500") == number


def test_a_point_that_parts_thousands_in_vietnamese_is_asked_about() -> None:
    with speaking("vi"), pytest.raises(BadInput) as caught:
        NUMBER("1.500")
    assert "1500" in caught.value.hint
    assert "1,5" in caught.value.hint
    with speaking("ru"):
        assert NUMBER("1.500") == "1.5"


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("typed", ["13000", "13,000", "13.000", "13 000", "13\u202f000"])
def test_a_whole_number_has_thousands_however_they_are_parted(code: str, typed: str) -> None:
    with speaking(code):
        assert checks.tokens("prompt")(typed) == "13000"
        assert checks.whole("clients", 1, 100_000)(typed) == "13000"


def test_with_a_unit_a_number_of_tokens_is_none_that_is_whole() -> None:
    """1.5 x 1024 = 1536; 1.048 x 1024 is none, and 1,048 Mi are not what was meant."""
    assert checks.tokens("prompt")("1.500k") == checks.tokens("prompt")("1,5k") == "1536"
    with pytest.raises(BadInput):
        checks.tokens("prompt")("1.048M")


@pytest.mark.parametrize("check", [checks.tokens("prompt"), checks.whole("clients", 1, 100_000)])
def test_a_fraction_is_no_whole_number(check: checks.Check) -> None:
    with pytest.raises(BadInput):
        check("1,5")
    assert checks.tokens("prompt")("1,5k") == "1536"


@given(st.sampled_from(LANGUAGES), st.integers(0, 10**9), st.integers(0, 6))
def test_what_the_page_writes_it_reads(code: str, digits: int, places: int) -> None:
    """As the state writes a number, and as its sentences do: with the marks of the language."""
    value = digits / 10**places
    check = checks.number("x", 0, 1e10)
    with speaking(code):
        assert float(check(f"{value:.10g}")) == pytest.approx(value)
        assert float(check(numeral(value, ",.2f"))) == pytest.approx(value, abs=0.0051)
        assert float(check(numeral(value, ",.4f"))) == pytest.approx(value, abs=0.000051)


@given(st.text(max_size=20), st.booleans())
def test_any_text_is_read_or_left_to_be_refused(text: str, whole: bool) -> None:
    plain_number("x", text, whole=whole)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_kind_of_field_takes_a_decimal_comma(code: str) -> None:
    with speaking(code):
        assert plan_checks.percentile("99,9") == "99.9"
        assert plan_checks.percent("growth", -90, 900)("-12,5 %") == "-12.5"
        assert plan_checks.seconds("scale_up", 0, 86_400)("1,5 min") == "90"
        assert plan_checks.hours("; ".join(["0,5"] * 23 + ["1"])).startswith("0.5,0.5,")
        assert plan_checks.lengths("13.000") == "13000"
        state = State(tab_plan.KEYS)
        state.set("prices", plan_moves.after_setting(state.frozen(), "price.l40s", "0,795")["prices"])
        assert state["prices"] == "l40s:0.795"
        assert not state.set("prices", plan_moves.after_setting(state.frozen(), "price.l40s", "1,2,3")["prices"])
        assert "USD per GPU hour" in state.error("prices") or code != "en"
