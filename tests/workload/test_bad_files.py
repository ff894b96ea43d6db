"""Files that are broken, empty, of another kind or full of impossible values: one clear error, or a counted loss."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bide.errors import BadInput
from bide.workload.measuring.description import describe
from bide.workload.modelling.compact import compact
from bide.workload.reading.asking import Ask
from bide.workload.reading.reader import read

HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
ROWS = [f"2023-11-16 18:{i // 60:02}:{i % 60:02}.1234567,{10 + i % 7},5\n" for i in range(100)]
GOOD = HEAD + "".join(ROWS)
QUANTILES = {"q": [0, 1], "value": [1, 2]}


def timed(t: Any, prompt: Any = 10, **more: Any) -> dict[str, Any]:
    return {"timestamp": t, "input_length": prompt, "output_length": 5, **more}


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def aggregate(**changes: Any) -> str:
    lengths = {"input_tokens": QUANTILES, "output_tokens": QUANTILES}
    return json.dumps({"window_s": 600, "start_ts": 0, "rate_rps": [1, 2], "length_quantiles": lengths, **changes})


def weka(request: dict[str, Any], **changes: Any) -> str:
    return json.dumps(
        {"block_size": 64, "requests": [{"t": 0, "in": 64, "out": 5, "hash_ids": [1], **request}], **changes}
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"", "It is empty"),
        ("a.jsonl", b"\n \n", "It is empty"),
        ("a.csv", HEAD, "headings and no rows"),
        ("a.csv", bytes(range(256)) * 100, "This is no text"),
        ("a.csv", b"x\xff\xfe\xfd\xf0" * 999, "This is no text"),
        ("a.csv", GOOD.encode("utf-16"), "save it as UTF-8"),
        ("a.csv.gz", b"\x1f\x8b\x08rubbish", "a file that can be read"),
        ("a.csv.gz", gzip.compress(GOOD.encode(), mtime=0)[:100], "a file that can be read"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "It is empty"),
        ("a.csv", "".join(ROWS), "first line names its columns"),
        ("a.csv", HEAD + ROWS[0] + "x,y,z\n" * 50, "most can be read"),
        ("a.csv", HEAD + '"2023-11-16 18:15:46,5,5\n' + ROWS[0], "polars can read"),
        ("a.parquet", b"PAR1rubbishPAR1", "a Parquet file"),
        ("a.json", "[" * 100_000, "one JSON object a line"),
        ("a.jsonl", ('{"a":' * 5000 + "1" + "}" * 5000 + "\n") * 3, "one JSON object a line"),
        ("a.json", '{"requests": [{"t": 0', "one JSON document"),
        ("a.json", "5", "names its columns"),
        ("a.json", "[null, 5]", "one JSON object a line"),
        ("a.jsonl", "null\nnull\n", "prompt lengths"),
        ("a.jsonl", lines(timed("a"), timed([1]), timed(True)), "no time such as"),
        ("a.jsonl", '{"timestamp": NaN, "input_length": 5, "output_length": 5}\n', "no time such as"),
        ("a.jsonl", lines(timed(0.5, float("inf"))), "no prompt length"),
        ("a.jsonl", lines(*(timed(i * 10**18) for i in range(9))), "times span 254 years"),
        ("a.jsonl", lines(timed(1), timed(1_700_000_000)), "two clocks"),
        ("a.jsonl", lines(*(timed(i * 1.5, 10 + 997 * i, hash_ids=[1, i]) for i in range(20))), "--trace-block-tokens"),
        ("a.jsonl", lines({"prompt": "abcd", "output_tokens": 10**30}), "no output length"),
        ("a.json", '[{"conversations": [5, null]}]', "a question and its answer"),
        ("a.json", weka({}, block_size="x"), "a block_size from 1"),
        ("a.json", weka({}, block_size=-4), "a block_size from 1"),
        ("a.json", weka({"in": 10**30}), "unusable"),
        ("a.json", weka({"t": float("nan")}), "unusable"),
        ("a.json", weka({}, requests=[]), "at least one request"),
        ("a.jsonl", '{"block_size":0,"requests":[[0,50,5,0,1,0,0]]}\n', "a block_size from 1"),
        ("a.jsonl", '{"block_size":64,"requests":[[1,50,5,Infinity,1,0,0]]}\n', "a list of requests"),
        ("a.json", aggregate(rate_rps=[-1, 2]), "rate_rps a window"),
        ("a.json", aggregate(rate_rps=[0, 0]), "rate_rps a window"),
        ("a.json", aggregate(rate_rps=[float("nan"), 1]), "rate_rps a window"),
        ("a.json", aggregate(rate_rps=[]), "rate_rps a window"),
        ("a.json", aggregate(window_s=0), "rate_rps a window"),
        ("a.json", aggregate(length_quantiles={"input_tokens": QUANTILES}), "rate_rps a window"),
        ("a.json", aggregate(length_quantiles={"input_tokens": {"q": [0], "value": []}}), "rate_rps a window"),
    ],
)
def test_a_broken_file_is_one_clear_error(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(BadInput) as caught:
        read([path])
    assert said in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.replace(",", ";").encode(),
        GOOD.replace(",", "\t").encode(),
        gzip.compress(GOOD.encode(), mtime=0),  # whatever the name says
        b"\xef\xbb\xbf" + lines(*(timed(1.5 * i) for i in range(100))).encode(),
        lines(*(timed(1.5 * i) for i in range(100))).replace("\n", "\r\n").encode(),
        (
            "timestamp,input_length,input_length,output_length\n" + "".join(f"{i}.5,1,2,3\n" for i in range(100))
        ).encode(),
    ],
    ids=["BOM", "CRLF", "semicolons", "tabs", "gzip", "BOM lines", "CRLF lines", "a heading twice"],
)
def test_spellings_of_the_same_file_lose_no_row(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(content)
    reading = read([path])
    assert (reading.report.rows, reading.report.kept) == (100, 100)


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        (["2023-11-16 18:15:46,NaN,5", "2023-11-16 18:15:46,inf,5", "2023-11-16 18:15:46,-1,5"], {"unreadable_prompt"}),
        (["2023-11-16 18:15:46,1e300,5", "2023-11-16 18:15:46,10.5,5"], {"unreadable_prompt"}),
        (["2023-11-16 18:15:46,5,-5", "2023-11-16 18:15:46,5,200000000"], {"unreadable_output"}),
        (["9999-12-31 23:59:59,5,5", "0001-01-01 00:00:00,5,5", "1700000000,5,5"], {"unreadable_time"}),
        (["2023-02-30 00:00:00,5,5", "2023-11-16 25:00:00,5,5", "NaT,5,5"], {"unreadable_time"}),
    ],
)
def test_impossible_cells_are_counted_and_the_rest_is_read(tmp_path: Path, rows: list[str], kinds: set[str]) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(GOOD + "".join(row + "\n" for row in rows))
    reading = read([path])
    assert {dropped.kind for dropped in reading.report.dropped} == kinds
    assert sum(dropped.count for dropped in reading.report.dropped) == len(rows)
    assert len(reading.trace) == 100


@pytest.mark.parametrize(
    "records",
    [
        [timed(0)],
        [timed(0), timed(1.5), timed(2)],
        [timed(5)] * 50,  # all at one moment
        [timed(float(i)) for i in range(60)],  # a metronome
        [timed(1e-9 * i) for i in range(20)],
        [timed(i * 86_400.0 * 400 / 19 + 0.5) for i in range(20)],  # a year and more
        [{**timed(i * 1.5), "output_length": 0} for i in range(60)],
    ],
    ids=["one", "three", "at once", "metronome", "nanoseconds", "a year", "no answers"],
)
def test_odd_traces_are_described_in_numbers_that_json_has(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines(*records))
    trace = read([path]).trace
    json.dumps([describe(trace).to_dict(), compact(trace)], allow_nan=False)


def test_folders_patterns_and_names_that_stand_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("", str(tmp_path / "empty"), str(tmp_path / "none.csv"), str(tmp_path / "*.csv")):
        with pytest.raises(BadInput, match="a file that exists"):
            read([name])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(GOOD)
    path.chmod(0)
    with pytest.raises(BadInput, match="can be read"):
        read([path])


def test_a_unit_that_is_asked_wrongly_is_named_whatever_the_file_has(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(lines(timed(0), timed(60)))
    assert read([path], Ask(time_unit="ms")).trace.span_s == pytest.approx(0.06)
    with pytest.raises(BadInput, match="one of s, ms, us, ns"):
        read([path], Ask(time_unit="h"))
