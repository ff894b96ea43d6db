"""What a reading says of the data, from files: every number in it is counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bide.workload.reading.asking import Ask
from bide.workload.reading.reader import read
from bide.workload.reading.report import Reading

Row = tuple[float, int, int]


def reading_of(folder: Path, rows: list[Row], ask: Ask | None = None) -> Reading:
    path = folder / "trace.csv"
    path.write_text("timestamp,input_length,output_length\n" + "".join(f"{t:.4f},{p},{o}\n" for t, p, o in rows))
    return read([path], ask)


def found(reading: Reading) -> dict[str, dict[str, Any]]:
    return {finding.kind: dict(finding.values) for finding in reading.report.findings}


def test_a_clean_trace_has_nothing_but_its_unit(tmp_path: Path) -> None:
    # gaps of 0.5 s and a bit: no tick
    reading = reading_of(tmp_path, [(0.5173 * i + 0.01 * (i % 3), 100 + i, 5 + i) for i in range(300)])
    assert set(found(reading)) == {"time_unit"}
    assert (reading.report.rows, reading.report.kept, reading.report.dropped) == (300, 300, ())


def test_zero_outputs_are_load_and_no_lengths(tmp_path: Path) -> None:
    rows = [(0.5173 * i, 100, 0 if i % 5 == 0 else 7) for i in range(200)]
    reading = reading_of(tmp_path, rows)
    assert found(reading)["zero_outputs"] == {"count": 40, "share": 0.2}
    assert "40 requests without output (20.0%)" in " ".join(f.text for f in reading.report.findings)
    assert (len(reading.trace), int(reading.trace.answered.sum())) == (200, 160)


def test_answers_cut_off_at_a_cap(tmp_path: Path) -> None:
    # 1,000 answers from 1 to 2,000 tokens, of which those over 1,024 end there
    lengths = np.minimum(1024, 1 + np.arange(1000) * 2)
    reading = reading_of(tmp_path, [(0.5173 * i, 100 + i, int(n)) for i, n in enumerate(lengths)])
    count = int((lengths == 1024).sum())
    assert count == 488  # 1 + 2 i >= 1,024 from i = 512 on
    assert found(reading)["cap"] == {"of": "output", "tokens": 1024, "count": 488, "share": 0.488}


@pytest.mark.parametrize("tick_s", [0.1, 1.0, 3.0])
def test_a_coarse_clock_with_its_tick(tmp_path: Path, tick_s: float) -> None:
    times = np.floor(np.cumsum(np.random.default_rng(0).exponential(tick_s / 4, 2000)) / tick_s) * tick_s
    reading = reading_of(tmp_path, [(t, 100 + i, 5) for i, t in enumerate(times)])
    said = found(reading)["tick"]
    assert said["tick_s"] == pytest.approx(tick_s)
    assert said["stamps"] == len(np.unique(times.round(4)))
    assert reading.trace.arrival_s is not None
    assert len(np.unique(reading.trace.arrival_s)) == 2000  # spread: no herd is left
    assert np.abs(np.sort(reading.trace.arrival_s + times[0]) - times).max() < 2 * tick_s


def test_rows_out_of_order_are_counted_and_sorted(tmp_path: Path) -> None:
    times = [0.0, 5.3, 2.1, 7.7, 6.4, 9.9]  # 2.1 and 6.4 come after later ones
    reading = reading_of(tmp_path, [(t, 10 + i, 5) for i, t in enumerate(times)])
    assert found(reading)["unsorted"] == {"count": 2}
    assert reading.trace.prompt_tokens.tolist() == [10, 12, 11, 14, 13, 15]


def test_equal_rows_are_counted_wherever_they_stand(tmp_path: Path) -> None:
    # of the four rows at 1.5 s three are equal: two too many
    rows = [(0.0, 10, 5), (1.5, 20, 5), (1.5, 99, 5), (1.5, 20, 5), (1.5, 20, 5), (2.25, 20, 5), (7.125, 1, 1)]
    assert found(reading_of(tmp_path, rows))["duplicates"] == {"count": 2}
    reading = reading_of(tmp_path, rows, Ask(drop_duplicates=True))
    assert [(d.kind, d.count) for d in reading.report.dropped] == [("duplicate", 2)]
    assert reading.trace.prompt_tokens.tolist() == [10, 20, 99, 20, 1]
    assert (reading.report.rows, reading.report.kept) == (7, 5)


def test_all_at_once(tmp_path: Path) -> None:
    """Rows kept and dropped add up to the rows read, whatever is wrong with them."""
    rows = [(0.5173 * (i % 150), 100 + i, i % 4) for i in range(300)]
    reading = reading_of(tmp_path, rows)
    path = tmp_path / "trace.csv"
    path.write_text(path.read_text() + "x,5,5\n1.0,x,5\n1.0,5,x\n1.0,,\n")
    again = read([path])
    assert again.report.kept == reading.report.kept == 300
    assert again.report.rows == 304
    assert sum(dropped.count for dropped in again.report.dropped) == 4
    assert {d.kind for d in again.report.dropped} == {
        "unreadable_time",
        "unreadable_prompt",
        "unreadable_output",
        "no_prompt",
    }
