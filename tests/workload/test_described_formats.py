"""Formats of which no file is at hand: small samples made after their descriptions, and variants of the others."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bide.workload.reading.asking import Ask
from bide.workload.reading.reader import read
from bide.workload.reading.report import Reading


def found(reading: Reading, kind: str) -> dict[str, Any]:
    (finding,) = [f for f in reading.report.findings if f.kind == kind]
    return dict(finding.values)


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def text(path: Path, *rows: str) -> Path:
    path.write_text("".join(row + "\n" for row in rows))
    return path


def test_azure_of_2024_has_six_digits_and_a_zone(tmp_path: Path) -> None:
    # AzureLLMInferenceDataset2024: 2024-05-10 00:00:00.009930+00:00
    head = "TIMESTAMP,ContextTokens,GeneratedTokens"
    rows = ("2024-05-10 00:00:00.009930+00:00,2162,5", "2024-05-10 00:00:01.509930+00:00,2399,6")
    reading = read([text(tmp_path / "AzureLLMInferenceTrace_code_1week.csv", head, *rows)])
    assert reading.report.format == "azure"
    assert reading.trace.prompt_tokens.tolist() == [2162, 2399]
    assert reading.trace.span_s == 1.5


@pytest.mark.parametrize(
    "head",
    [
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type",  # BurstGPT 2
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",  # BurstGPT 1
    ],
)
def test_both_burstgpts_are_seconds_and_count_failures(tmp_path: Path, head: str) -> None:
    more = "s1,0.5," if "Session" in head else ""
    rows = [f"{t},{more}ChatGPT,472,{out},{472 + out},Conversation log" for t, out in ((5, 18), (45, 0), (118, 230))]
    reading = read([text(tmp_path / "BurstGPT.csv", head, *rows)])
    assert reading.report.format == "burstgpt"
    assert found(reading, "time_unit")["unit"] == "s"
    assert found(reading, "zero_outputs") == {"count": 1, "share": pytest.approx(1 / 3)}
    assert reading.trace.span_s == 113.0
    assert reading.trace.output_tokens.tolist() == [18, 0, 230]


def test_a_timed_trace_in_seconds_is_told_from_mooncake_s_milliseconds(tmp_path: Path) -> None:
    # vLLM's timed_trace and GuideLLM's trace_synthetic have Mooncake's names, and seconds with a fraction
    def request(t: float) -> dict[str, Any]:
        return {"timestamp": t, "input_length": 1030, "output_length": 50, "hash_ids": [1, 2, 3]}

    seconds = read([lines(tmp_path / "s.jsonl", [request(t) for t in (0.0, 0.75, 1.25)])])
    millis = read([lines(tmp_path / "ms.jsonl", [request(t) for t in (0, 27_482, 330_000)])])
    for reading, unit, span_s in ((seconds, "s", 1.25), (millis, "ms", 330.0)):
        assert reading.report.format == "timed-trace"
        assert found(reading, "time_unit")["unit"] == unit
        assert found(reading, "block_tokens")["block_tokens"] == 512  # 1,030 tokens in 3 blocks
        assert reading.trace.span_s == span_s


def test_column_names_of_a_timed_trace_can_be_set(tmp_path: Path) -> None:
    rows = [{"when": 0.5 * i, "n_prompt": 10 + i, "n_answer": 5, "chain": [1, i]} for i in range(3)]
    fields = {"time": "when", "prompt": "n_prompt", "output": "n_answer", "blocks": "chain"}
    trace = read([lines(tmp_path / "own.jsonl", rows)], Ask(fields=fields, block_tokens=8)).trace
    assert trace.prompt_tokens.tolist() == [10, 11, 12]
    assert trace.blocks is not None
    assert trace.blocks.tokens == 8


def test_baseten_s_completions_are_in_milliseconds(tmp_path: Path) -> None:
    rows = ("timestamp_start_unix_ms,input_tokens,output_tokens", "1718000000250,900,40", "1718000001000,12,3")
    reading = read([text(tmp_path / "completions.csv", *rows)])
    assert reading.report.format == "baseten"
    assert reading.trace.span_s == 0.75


def test_vidur_s_lengths_have_times_or_none(tmp_path: Path) -> None:
    timed = read(
        [text(tmp_path / "a.csv", "arrived_at,num_prefill_tokens,num_decode_tokens", "0.0,374,44", "4.1,396,109")]
    )
    assert timed.report.format == "vidur"
    assert timed.trace.span_s == pytest.approx(4.1)
    head = (
        ",num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio"  # the published lengths begin with an index
    )
    bare = read([text(tmp_path / "b.csv", head, "0,2500,130,2630,19.2", "1,3100,99,3199,31.3")])
    assert bare.report.format == "vidur"
    assert bare.trace.arrival_s is None
    assert [f.kind for f in bare.report.findings] == ["no_times"]


def test_arrivals_in_tabs_without_outputs(tmp_path: Path) -> None:
    # rtp-llm: headings in a comment
    path = text(tmp_path / "pod1.tsv", "# columns: relative_timestamp_ms\\tinput_tokens", "0\t900", "120\t40", "99\t7")
    reading = read([path])
    assert reading.report.format == "rtp-llm-arrivals"
    assert reading.trace.arrival_s is not None
    assert reading.trace.arrival_s.tolist() == [0.0, 0.099, 0.12]
    assert {f.kind for f in reading.report.findings} == {"time_unit", "unsorted", "no_outputs"}


def session(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"id": "trace_1", "block_size": 64, "requests": list(requests)}


def test_a_weka_session_has_pauses_and_a_sub_agent_with_a_clock_of_its_own(tmp_path: Path) -> None:
    inner = {"t": 2.0, "in": 64, "out": 3, "hash_ids": [9], "think_time": 0.0}
    document = session(
        {"t": 0.0, "in": 128, "out": 10, "hash_ids": [1, 2], "think_time": 0.0},
        {"type": "subagent", "agent_id": "a", "t": 5.0, "requests": [inner]},
        {"t": 20.0, "in": 192, "out": 10, "hash_ids": [1, 2, 3], "think_time": 12.5},
    )
    (tmp_path / "trace_1.json").write_text(json.dumps(document))
    reading = read([tmp_path / "trace_1.json"])
    trace = reading.trace
    assert reading.report.format == "weka"
    assert trace.session is not None
    assert trace.blocks is not None
    assert trace.prompt_tokens[trace.session == trace.session[trace.prompt_tokens == 192][0]].tolist() == [128, 192]
    assert trace.think_s is not None
    assert trace.think_s[trace.prompt_tokens == 192].tolist() == [12.5]


def test_weka_sessions_may_stand_one_a_line_and_packed(tmp_path: Path) -> None:
    one = session({"t": 0.0, "in": 128, "out": 10, "hash_ids": ["x", "y"], "think_time": 0.0})
    with gzip.open(tmp_path / "sessions.jsonl.gz", "wt") as file:
        file.write(json.dumps(one) + "\n" + json.dumps(one) + "\n")
    trace = read([tmp_path / "sessions.jsonl.gz"]).trace
    assert trace.blocks is not None
    assert sorted(trace.blocks.ids.tolist()) == [0, 1, 2, 3]  # ids are each document's own


def test_tracelab_rounds_share_what_was_cached(tmp_path: Path) -> None:
    def turn(number: int, prompt: int, prefix: int, at: str) -> dict[str, Any]:
        events = [{"event_type": "user_message", "timestamp": f"2026-06-01T05:40:{at}Z"}]
        lengths = {"input_tokens_total": prompt, "prefix_tokens": prefix, "output_tokens": 20}
        return {"session_id": "s", "round_index": number, "round_id": f"r{number}", **lengths, "timing_events": events}

    reading = read([lines(tmp_path / "round_trace.jsonl", [turn(0, 160, 0, "20.151"), turn(1, 320, 160, "40.151")])])
    trace = reading.trace
    assert reading.report.format == "tracelab"
    assert trace.blocks is not None
    assert trace.blocks.chain(1)[:10].tolist() == trace.blocks.chain(0).tolist()
    assert len(trace.blocks.chain(1)) == 20
    assert trace.span_s == 20.0


def test_chat_messages_are_conversations_too(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "a" * 40}, {"role": "assistant", "content": "b" * 80}]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"conversations": turns}]))
    trace = read([path]).trace
    assert (trace.prompt_tokens.tolist(), trace.output_tokens.tolist()) == ([10], [20])


USAGE = {"prompt_tokens": 10, "completion_tokens": 5}


def test_a_log_that_names_a_conversation_is_no_conversation_in_words(tmp_path: Path) -> None:
    rows = [{"ts": 1.5 + i, "conversation": f"c{i % 2}", "usage": USAGE} for i in range(4)]
    reading = read([lines(tmp_path / "gateway.log", rows)])
    assert reading.report.format == "log"
    assert reading.trace.session is not None
    first, second, third, fourth = reading.trace.session.tolist()
    assert first == third != second == fourth


@pytest.mark.parametrize("wrapped", [False, True])
def test_an_export_may_be_one_array(tmp_path: Path, wrapped: bool) -> None:
    rows = [{"id": f"c{i}", "created": 1_700_000_000 + i, "usage": USAGE} for i in range(3)]
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"object": "list", "data": rows} if wrapped else rows))
    reading = read([path])
    assert reading.report.format == "log"
    assert reading.trace.prompt_tokens.tolist() == [10, 10, 10]
    assert reading.trace.span_s == 2.0


@pytest.mark.parametrize(
    "stamps",
    [
        ("2024-05-10 00:00:00", "2024-05-10 00:01:00"),
        ("2024-05-10T00:00", "2024-05-10T00:01"),
        ("2024-05-10T00:00:00Z", "2024-05-10T02:01:00+02:00"),
        ("2024-05-10T00:00:00,000", "2024-05-10T00:01:00,000"),
        ("10/May/2024:00:00:00 +0000", "09/May/2024:19:01:00 -0500"),  # nginx and Apache
        ("Fri, 10 May 2024 00:00:00 GMT", "Fri, 10 May 2024 00:01:00 GMT"),  # HTTP
    ],
    ids=lambda stamps: stamps[1],
)
def test_time_stamps_of_many_kinds_and_zones(tmp_path: Path, stamps: tuple[str, str]) -> None:
    rows = [{"time": stamp, "prompt_tokens": 5, "completion_tokens": 2} for stamp in stamps]
    assert read([lines(tmp_path / "t.jsonl", rows)]).trace.span_s == 60.0
