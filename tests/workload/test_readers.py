from pathlib import Path

import numpy as np
import pytest

from bide.errors import BadInput
from bide.workload.readers import read_both
from bide.workload.requests import Workload, summarise

EXAMPLE = Path(__file__).parents[2] / "examples" / "traces" / "azure-conv-2023-peak15min.csv"
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def trace(folder: Path, rows: list[str], header: str = HEADER) -> Path:
    path = folder / "trace.csv"
    path.write_text(header + "".join(row + "\n" for row in rows), encoding="utf-8")
    return path


def read_trace(path: Path, field: str = "trace") -> Workload:
    return read_both(path, field)[1]


def seconds(count: int, prompt: int = 10, output: int = 5) -> list[str]:
    return [f"2023-11-16 18:{i // 60:02}:{i % 60:02}.1234567,{prompt},{output}" for i in range(count)]


def test_the_example_trace_is_what_its_readme_says() -> None:
    work = read_trace(EXAMPLE)
    prompt, output = summarise(work.prompt_tokens), summarise(work.output_tokens)
    assert len(work) == 6541
    assert (round(prompt.mean), prompt.p50, prompt.p95) == (1276, 454, 4088)
    assert (round(output.mean), output.p50, output.p95) == (150, 96, 429)
    assert work.largest_tokens == 7752
    assert work.burstiness == pytest.approx(1.04, abs=0.01)


def test_arrivals_play_at_the_asked_rate() -> None:
    times_s = read_trace(EXAMPLE).arrivals_s(12.0)
    assert len(times_s) / times_s[-1] == pytest.approx(12.0)
    assert (np.diff(times_s) >= 0).all()


def test_both_years_time_stamps_are_read(tmp_path: Path) -> None:
    rows = [f"2024-05-10 00:{i // 60:02}:{i % 60:02}.009930+00:00,7,3" for i in range(120)]
    assert read_trace(trace(tmp_path, rows)).gaps == pytest.approx(np.ones(120))
    assert read_trace(trace(tmp_path, seconds(120))).gaps == pytest.approx(np.ones(120))


def test_rows_are_sorted_and_pairs_stay_together(tmp_path: Path) -> None:
    rows = [f"2023-11-16 18:{i // 60:02}:{i % 60:02}.0,{i + 1},{2 * i + 2}" for i in range(150)]
    work = read_trace(trace(tmp_path, rows[::-1]))
    assert (np.diff(work.prompt_tokens) == 1).all()
    assert (work.output_tokens == 2 * work.prompt_tokens).all()


def test_failures_are_left_out_and_counted(tmp_path: Path) -> None:
    work = read_trace(trace(tmp_path, seconds(150) + seconds(7, output=0)))
    assert len(work) == 150
    assert work.notes == ("7 rows without output (failures) left out",)


def test_a_coarse_clock_is_spread_within_its_ticks(tmp_path: Path) -> None:
    # 50 ticks of 3 s with 4 requests each: replayed raw, a herd every 3 s
    rows = [f"2023-11-16 18:{3 * i // 60:02}:{3 * i % 60:02}.0,10,5" for i in range(50) for _ in range(4)]
    work = read_trace(trace(tmp_path, rows))
    assert "rounded to 3 s" in work.notes[0]
    assert work.burstiness < 1.3  # 1.73 as recorded: gaps 0, 0, 0, 4


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        (seconds(3), HEADER, "3 rows are too few"),
        (seconds(120), "TIMESTAMP,ContextTokens,Colour\n", "such as GeneratedTokens"),
        (seconds(120), "TIMESTAMP,ContextToken,GeneratedTokens\n", "is ContextToken meant"),
        ([*seconds(120), "2023-11-16 18:30:00,many,5"], HEADER, "trace.csv:122: ContextTokens = 'many'"),
        ([*seconds(120), "2023-11-16 18:30:00,-4,5"], HEADER, "trace.csv:122: ContextTokens = '-4'"),
        ([*seconds(120), "yesterday,4,5"], HEADER, "trace.csv:122: TIMESTAMP = 'yesterday'"),
        (["2023-11-16 18:30:00,4,5"] * 120, HEADER, "arrive at different times"),
        ([], HEADER, "headings and no rows"),
        ([], "", "CSV"),
    ],
)
def test_a_bad_trace_is_one_clear_error(tmp_path: Path, rows: list[str], header: str, said: str) -> None:
    with pytest.raises(BadInput, match=r"workload\.trace") as caught:
        read_trace(trace(tmp_path, rows, header), "workload.trace")
    assert said in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(BadInput, match="a file that exists"):
            read_trace(path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(b"\xff\xfe\x00\x01" * 500)
    with pytest.raises(BadInput):
        read_trace(path)


def test_what_a_binary_file_holds_is_not_poured_out(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(b"\0" * 10**6)
    with pytest.raises(BadInput) as caught:
        read_trace(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
