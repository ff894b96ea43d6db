"""Sizes and times as people write them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.units import GIB, format_bytes, format_gib, format_seconds, parse_bytes, parse_seconds, parse_tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("53GB", 53_000_000_000),
        ("53 gb", 53_000_000_000),
        ("53GiB", 53 * 2**30),
        ("79.19GiB", round(79.19 * 2**30)),
        ("1_000", 1000),
        ("1,024KiB", 2**20),
        (4096, 4096),
        ("1e3MB", 10**9),
    ],
)
def test_bytes_are_decimal_or_binary_as_their_unit_says(text: object, expected: int) -> None:
    assert parse_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("8k", 8192), ("128k", 131072), ("13,000", 13000), ("1m", 2**20), (1, 1)]
)
def test_an_8k_context_is_8192_tokens(text: object, expected: int) -> None:
    assert parse_tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("50ms", 0.05), ("5s", 5.0), ("2min", 120.0), (0.5, 0.5), ("30us", 3e-5)]
)
def test_times_take_the_usual_units(text: object, expected: float) -> None:
    assert parse_seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "GB",
        "-1GB",
        "1 parsec",
        "1GB2",
        None,
        True,
        [],
        {},
        math.nan,
        math.inf,
        -1,
        10**400,
        "9" * 500,
        "٣GB",
        "1,5GB",
        "0,500",
        "1,2345",
    ],
)
def test_anything_else_is_one_clear_error_naming_the_field(text: object) -> None:
    with pytest.raises(BadInput, match=r"^pool: (got|missing)"):
        parse_bytes(text, "pool")


@pytest.mark.parametrize("text", ["0", "1.5", "0.0001k", 2.5, "1e20"])
def test_token_counts_are_whole_and_at_least_one(text: object) -> None:
    with pytest.raises(BadInput):
        parse_tokens(text)


@given(st.text() | st.integers() | st.floats() | st.none() | st.lists(st.integers()))
def test_no_input_makes_a_parser_raise_anything_but_bad_input(text: object) -> None:
    for parse in (parse_bytes, parse_seconds, parse_tokens):
        try:
            assert math.isfinite(parse(text))
        except BadInput as error:
            assert len(str(error)) < 400


@given(st.floats(min_value=1, max_value=1e15))
def test_formatted_bytes_read_back_within_their_three_digits(count: float) -> None:
    assert parse_bytes(format_bytes(count)) == pytest.approx(count, rel=0.006, abs=1)


@given(st.floats(min_value=1e-6, max_value=1e6))
def test_formatted_seconds_read_back_within_their_three_digits(seconds: float) -> None:
    assert parse_seconds(format_seconds(seconds)) == pytest.approx(seconds, rel=0.006)


def test_formats_say_their_unit() -> None:
    # Llama 3 8B: 2 x 32 layers x 8 heads x 128 x 2 bytes = 131,072 a token; 8,192 tokens = 1 GiB.
    assert format_bytes(131072) == "128 KiB"
    assert format_bytes(131072 * 8192) == "1 GiB"
    assert format_gib(1.5 * GIB) == "1.50"
    assert format_seconds(0) == "0 s"
    assert re.fullmatch(r"-?[\d.,]+ [KMGT]?i?B", format_bytes(-5 * GIB))
