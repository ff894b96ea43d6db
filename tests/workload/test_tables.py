"""Tables and logs: what is taken from them, what is left out and why."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bide.errors import BadInput
from bide.workload.measuring.description import describe
from bide.workload.reading.asking import Ask
from bide.workload.reading.reader import read
from bide.workload.reading.report import Reading

DATA = Path(__file__).parent / "data"


def lines(path: Path, records: list[Any]) -> Path:
    """JSON lines; a record that is text already is written as it is."""
    text = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records)
    path.write_text(text, encoding="utf-8")
    return path


def found(reading: Reading, kind: str) -> dict[str, Any]:
    """The values of a finding."""
    return next(dict(f.values) | {"text": f.text} for f in reading.report.findings if f.kind == kind)


def test_a_published_trace_with_hashes_and_a_coarse_clock() -> None:
    # counted line by line in plain Python: 250 requests, 30 time stamps, 3,534,037 prompt and 91,107 output tokens
    reading = read([DATA / "mooncake-conversation-head.jsonl.gz"])
    trace = reading.trace
    assert reading.report.format == "timed-trace"
    assert (len(trace), trace.prompt_tokens.sum(), trace.output_tokens.sum()) == (250, 3_534_037, 91_107)
    assert trace.blocks is not None
    assert trace.blocks.tokens == 512
    assert found(reading, "time_unit")["unit"] == "ms"
    assert found(reading, "tick")["tick_s"] == pytest.approx(3.0)
    assert found(reading, "tick")["stamps"] == 30
    assert trace.arrival_s is not None
    assert len(np.unique(trace.arrival_s)) == 250
    assert trace.span_s == pytest.approx(87, abs=3)


def test_ticks_are_kept_where_that_is_asked_for() -> None:
    trace = read([DATA / "mooncake-conversation-head.jsonl.gz"], Ask(spread_ticks=False)).trace
    assert trace.arrival_s is not None
    assert len(np.unique(trace.arrival_s)) == 30
    assert trace.span_s == pytest.approx(86.999)


def test_a_production_log_with_failures_and_long_ids() -> None:
    # 150 lines, 70 of them with no output, hashes of 64 bits, one for each full block of 1,024
    reading = read([DATA / "rtp-llm-online-cut.jsonl.gz"])
    assert reading.report.format == "rtp-llm"
    assert found(reading, "block_tokens")["block_tokens"] == 1024
    assert found(reading, "zero_outputs")["count"] == 70
    assert reading.trace.blocks is not None
    assert (reading.trace.blocks.counts == reading.trace.prompt_tokens // 1024).all()
    assert reading.trace.answered.sum() == (reading.trace.output_tokens > 0).sum()


def test_an_access_log_with_usage_objects_of_two_apis(tmp_path: Path) -> None:
    chat = {"id": "a", "created": 1700000000, "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
    responses = {"id": "b", "created": 1700000002, "usage": {"input_tokens": 20, "output_tokens": 7}}
    failed = {"id": "c", "created": 1700000003, "usage": None, "error": "overloaded"}
    reading = read([lines(tmp_path / "access.log", [chat, responses, failed])])
    assert reading.report.format == "log"
    assert reading.trace.prompt_tokens.tolist() == [10, 20]
    assert reading.trace.output_tokens.tolist() == [5, 7]
    assert [(d.kind, d.count) for d in reading.report.dropped] == [("no_prompt", 1)]
    assert reading.trace.span_s == 2.0


def test_a_litellm_log_with_dates_and_cached_tokens(tmp_path: Path) -> None:
    def entry(second: int, prompt: int, cached: int) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{second}",
            "startTime": f"2026-03-01T10:00:{second:02}.500+01:00",
            "endTime": f"2026-03-01T10:00:{second + 9:02}.500+01:00",
            "prompt_tokens": prompt,
            "completion_tokens": 3,
            "metadata": {"usage_object": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": cached}}},
        }

    trace = read([lines(tmp_path / "spend.jsonl", [entry(1, 100, 0), entry(4, 300, 256)])]).trace
    assert trace.prompt_tokens.tolist() == [100, 300]  # of the record itself, not of something nested in it
    assert trace.cached_tokens is not None
    assert trace.cached_tokens.tolist() == [0, 256]
    assert trace.arrival_s is not None
    assert trace.arrival_s.tolist() == [0.0, 3.0]


def test_lines_that_are_no_json_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    record = {"ts": 1.5, "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
    path = lines(tmp_path / "gateway.log", ["starting up", record, "{broken", "", {**record, "ts": 2.5}])
    reading = read([path])
    assert len(reading.trace) == 2
    assert [(d.kind, d.count) for d in reading.report.dropped] == [("not_json", 2)]
    assert reading.report.rows == 4


def test_a_request_logged_twice_counts_once(tmp_path: Path) -> None:
    record = {"id": "a", "ts": 1, "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
    reading = read([lines(tmp_path / "a.jsonl", [record, record, {**record, "id": "b", "ts": 2}])])
    assert len(reading.trace) == 2
    assert [(d.kind, d.count) for d in reading.report.dropped] == [("duplicate_id", 1)]


def test_field_names_can_be_set(tmp_path: Path) -> None:
    record = {"when": 5, "request": {"body": {"n_in": 7}}, "n_out": 3}
    path = lines(tmp_path / "own.jsonl", [record, {**record, "when": 9}])
    with pytest.raises(BadInput, match="--field prompt=NAME"):
        read([path])
    fields = {"time": "when", "prompt": "request.body.n_in", "output": "n_out"}
    trace = read([path], Ask(fields=fields, time_unit="ms")).trace
    assert (trace.prompt_tokens.tolist(), trace.output_tokens.tolist()) == ([7, 7], [3, 3])
    assert trace.span_s == pytest.approx(0.004)


@pytest.mark.parametrize(
    ("times", "unit", "span_s"),
    [
        ([1700000000, 1700000010], "s", 10.0),
        ([1700000000123, 1700000010123], "ms", 10.0),
        ([1700000000123456, 1700000010123456], "us", 10.0),
        ([1700000000123456789, 1700000010123456789], "ns", 10.0),
        ([0, 3.5], "s", 3.5),
        ([0, 60], "s", 60.0),  # two requests a minute may be a quiet service
        ([0, 3_600_000], "ms", 3600.0),  # two requests in 42 days are a unit misread
    ],
)
def test_the_unit_of_time_is_told_from_the_numbers(
    tmp_path: Path, times: list[float], unit: str, span_s: float
) -> None:
    rows = [{"timestamp": t, "input_length": 10, "output_length": 5} for t in times]
    reading = read([lines(tmp_path / "t.jsonl", rows)])
    assert found(reading, "time_unit")["unit"] == unit
    assert reading.trace.span_s == pytest.approx(span_s, rel=1e-6)


def test_burstgpt_is_read_by_name_whatever_the_order_of_its_columns(tmp_path: Path) -> None:
    head = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    rows = ["5,a,1.0,GPT-4,472,18,490,Conversation log", "45,b,2.0,ChatGPT,1087,0,1087,API log"]
    path = tmp_path / "BurstGPT.csv"
    path.write_text(head + "\n".join(rows) + "\n")
    reading = read([path])
    assert reading.report.format == "burstgpt"
    assert reading.trace.prompt_tokens.tolist() == [472, 1087]
    assert found(reading, "zero_outputs")["count"] == 1
    assert reading.trace.session is not None
    assert len(set(reading.trace.session)) == 2


def test_bailian_requests_follow_their_parents(tmp_path: Path) -> None:
    def turn(chat: int, parent: int, t: float, hashes: list[int]) -> dict[str, Any]:
        lengths = {"input_length": 16 * len(hashes), "output_length": 4}
        return {
            "chat_id": chat,
            "parent_chat_id": parent,
            "timestamp": t,
            **lengths,
            "type": "text",
            "hash_ids": hashes,
        }

    rows = [
        turn(1, -1, 0.0, [1, 2]),
        turn(2, -1, 0.5, [9, 8]),
        turn(3, 1, 7.0, [1, 2, 3]),
        turn(4, 3, 9.0, [1, 2, 3, 4]),
    ]
    trace = read([lines(tmp_path / "b.jsonl", rows)]).trace
    assert trace.session is not None
    assert trace.session.tolist() == [0, 1, 0, 0]
    assert trace.blocks is not None
    assert trace.blocks.tokens == 16
    assert trace.blocks.chain(3).tolist() == [*trace.blocks.chain(2).tolist(), trace.blocks.ids.max()]


def test_parquet_gzip_and_globs(tmp_path: Path) -> None:
    frame = pl.DataFrame({"arrival_s": [0.0, 2.5], "prompt_tokens": [10, 20], "output_tokens": [1, 2]})
    frame.write_parquet(tmp_path / "one.parquet")
    times = pl.Series(["2026-01-01 00:00:00", "2026-01-01 00:00:02.5"]).str.to_datetime()
    frame.with_columns(arrival_s=times).write_parquet(tmp_path / "dated.parquet")
    with gzip.open(tmp_path / "one.csv.gz", "wt") as file:
        file.write(frame.write_csv())
    for name in ("one.parquet", "dated.parquet", "one.csv.gz", "on*.csv.gz"):
        trace = read([str(tmp_path / name)]).trace
        assert trace.prompt_tokens.tolist() == [10, 20], name
        assert trace.span_s == 2.5


def test_files_of_a_day_share_a_clock_and_those_that_begin_anew_follow_one_another(tmp_path: Path) -> None:
    def part(name: str, first: int) -> Path:
        rows = [{"ts": first + i, "prompt_tokens": 5, "output_tokens": 5} for i in range(11)]
        return lines(tmp_path / name, rows)

    dated = read([part("a.jsonl", 1700000000), part("b.jsonl", 1700000100)])
    assert dated.trace.span_s == 110
    anew = read([part("c.jsonl", 0), part("d.jsonl", 0)])
    assert anew.trace.span_s == pytest.approx(20 + 10 / 11)
    assert "files_end_to_end" in {f.kind for f in anew.report.findings}


def test_rows_out_of_order_are_sorted_and_told(tmp_path: Path) -> None:
    rows = [{"ts": t, "prompt_tokens": 1 + t, "output_tokens": 5} for t in (100, 50, 70, 120)]
    reading = read([lines(tmp_path / "t.jsonl", rows)], Ask(time_unit="s"))
    assert found(reading, "unsorted")["count"] == 1
    assert reading.trace.prompt_tokens.tolist() == [51, 71, 101, 121]


def test_equal_rows_are_kept_until_it_is_asked_to_drop_them(tmp_path: Path) -> None:
    rows = [{"ts": t, "prompt_tokens": p, "output_tokens": 5} for t, p in ((1, 9), (2, 8), (2, 7), (2, 8), (3, 9))]
    path = lines(tmp_path / "t.jsonl", rows)
    assert found(read([path], Ask(spread_ticks=False)), "duplicates")["count"] == 1
    dropped = read([path], Ask(drop_duplicates=True))
    assert len(dropped.trace) == 4
    assert [(d.kind, d.count) for d in dropped.report.dropped] == [("duplicate", 1)]


def test_unreadable_cells_are_counted_with_their_first_place_or_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = ["1,10,5", "2,ten,5", "3,10,-1", "later,10,5", "5,11.0,6", "6,12,", ",12,1"]
    path.write_text("ts,prompt_tokens,output_tokens\n" + "\n".join(rows) + "\n")
    reading = read([path])
    assert [(d.kind, d.count) for d in reading.report.dropped] == [
        ("unreadable_prompt", 1),
        ("unreadable_output", 1),
        ("unreadable_time", 1),
        ("no_time", 1),
    ]
    assert "t.csv:3: prompt_tokens = 'ten'" in reading.report.dropped[0].text
    assert reading.trace.prompt_tokens.tolist() == [10, 11, 12]
    assert reading.trace.output_tokens.tolist() == [5, 6, 0]
    with pytest.raises(BadInput, match=r"t\.csv:3: prompt_tokens = 'ten'"):
        read([path], Ask(strict=True))


def test_headings_in_a_comment_and_no_outputs(tmp_path: Path) -> None:
    # as rtp-llm's pod1_arrivals.tsv: two comments, then numbers between tabs
    path = tmp_path / "arrivals.tsv"
    path.write_text("# sanitized\n# columns: relative_timestamp_ms\\tinput_tokens\n71\t2101\n3106\t5961\n")
    reading = read([path])
    assert reading.trace.span_s == pytest.approx(3.035)
    assert not reading.trace.outputs_known
    assert "no_outputs" in {f.kind for f in reading.report.findings}
    with pytest.raises(BadInput, match="number of tokens generated"):
        reading.trace.workload()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "It is empty"),
        (" \n\n", "It is empty"),
        ("# a comment\n", "It has no rows"),
        ("1,2,3\n4,5,6\n", "first line names its columns"),
        ("a,b\n1,2\n", "--field prompt=NAME"),
        ("ts,prompt_tokens,output_tokens\n1,x,1\n2,y,1\n3,1,1\n", "most can be read"),
        ("ts,prompt_tokens,output_tokens\n1,0,1\n", "at least one request"),
        ('{"a": 1}\n{"b": 2}\n', "--field prompt=NAME"),
        ('{"a": [1, 2]}', "one JSON object a line"),
        ('["x"]', "one JSON object a line"),
    ],
)
def test_what_is_no_trace_is_one_clear_error(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(BadInput, match="trace") as caught:
        read([path])
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (Ask(format="azur"), "Did you mean azure"),
        (Ask(time_unit="weeks"), "one of s, ms, us, ns"),
        (Ask(fields={"prompts": "x"}), "Did you mean prompt"),
        (Ask(fields={"prompt": "prompt_token"}), "Did you mean prompt_tokens"),
    ],
)
def test_what_is_asked_wrongly_names_what_is_right(tmp_path: Path, ask: Ask, said: str) -> None:
    path = lines(tmp_path / "t.jsonl", [{"ts": 1, "prompt_tokens": 5, "output_tokens": 5}] * 3)
    with pytest.raises(BadInput) as caught:
        read([path], ask)
    assert said in str(caught.value)


def test_one_request_is_a_trace(tmp_path: Path) -> None:
    about = describe(read([lines(tmp_path / "t.jsonl", [{"ts": 1, "prompt_tokens": 5, "output_tokens": 7}])]).trace)
    assert (about.requests, about.prompt.mean, about.arrivals) == (1, 5, None)
