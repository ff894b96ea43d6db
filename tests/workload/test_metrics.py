from dataclasses import replace

import numpy as np
import pytest

from bide.metrics import e2e_s, summary, tpot_s, ttft_s
from bide.records import RequestTable


def table(**columns: object) -> RequestTable:
    # arrives at 1 s, first token at 1.5 s, 11th token at 3.5 s; the second request gives one token only
    given = {
        "arrival_s": [1.0, 2.0],
        "first_token_s": [1.5, 2.25],
        "last_token_s": [3.5, 2.25],
        "prompt_tokens": [100, 50],
        "output_tokens": [11, 1],
    } | columns
    return RequestTable.of(**{name: np.array(column) for name, column in given.items()})


def test_latencies_by_hand() -> None:
    assert ttft_s(table()) == pytest.approx([0.5, 0.25])
    assert e2e_s(table()) == pytest.approx([2.5, 0.25])
    assert tpot_s(table())[0] == pytest.approx(2.0 / 10)
    assert np.isnan(tpot_s(table())[1])


def test_tokens_of_the_first_chunk_do_not_count_as_later_ones() -> None:
    assert tpot_s(table(first_chunk_tokens=[3, 1]))[0] == pytest.approx(2.0 / 8)


def test_a_client_that_was_late_does_not_hide_the_wait() -> None:
    assert ttft_s(table(sent_s=[1.4, 2.1])) == pytest.approx([0.5, 0.25])


def test_failures_have_no_latency() -> None:
    assert np.isnan(ttft_s(table(status=["ok", "failed"]))).tolist() == [False, True]
    assert summary(e2e_s(table(status=["failed", "failed"])), 95) != summary(e2e_s(table()), 95)
    assert np.isnan(summary(e2e_s(table(status=["failed", "failed"])), 95))


def test_the_summary_of_a_column() -> None:
    seconds = np.array([1.0, 2.0, 3.0, 4.0])
    assert (summary(seconds, 50), summary(seconds, None), summary(seconds, 100)) == (2.5, 2.5, 4.0)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"first_token_s": [0.5, 2.25]}, "first_token_s before arrival_s"),
        ({"last_token_s": [1.2, 2.3]}, "before first_token_s"),
        ({"output_tokens": [1]}, "different lengths"),
        ({"colour": [1, 2]}, "no such column: colour"),
    ],
)
def test_an_impossible_table_is_refused(columns: dict[str, list[float]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        table(**columns)


def test_a_table_becomes_a_frame() -> None:
    frame = replace(table(), token_times_s=(np.array([1.5, 3.5]), np.array([2.25]))).to_polars()
    assert frame["token_times_s"].to_list() == [[1.5, 3.5], [2.25]]
    assert frame["id"].to_list() == ["0", "1"]
    assert table().to_polars().shape == (2, 15)
