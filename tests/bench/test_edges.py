"""What is asked of a client and its server at the edges: keys, retries, searches, and the other tool's format."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench_scene import QUICK, cell_of, loaded, quick, served, users
from bide import metrics
from bide.bench.client import Client, Rules
from bide.bench.clock import now_ns
from bide.bench.exchange import Exchange
from bide.bench.loads import Load
from bide.bench.objectives import parse_objectives, search
from bide.bench.outcome import Outcome
from bide.bench.pool import Pool
from bide.bench.pump import Pump
from bide.bench.result import Bench, Cell
from bide.bench.target import Tls, target_of
from bide.bench.vllm_json import vllm_result
from bide.bench.wire import Connection
from bide.errors import BadInput


def test_the_other_tools_format_counts_what_had_no_connection_as_failed_and_what_was_given_up_not() -> None:
    settings = {"date": "2026-11-30T01:02:03+00:00", "endpoint": "chat", "model": "m", "ask": {"tokenizer": None}}
    cell = cell_of(QUICK)
    lost = Outcome(8, 0.5, end_s=0.6, status="connect_error", error="refused")
    gone = Outcome(9, 0.5, 0.5, end_s=0.6, status="cancelled")
    found = vllm_result(Bench(settings, ()), replace(cell, outcomes=[*cell.outcomes, lost, gone]))
    assert (found["num_prompts"], found["completed"], found["failed"]) == (9, 8, 1)
    assert found["errors"].count("refused") == 1
    assert max(found["queue_times"]) < 0.5


def test_the_other_tools_format_has_the_rate_of_a_trace() -> None:
    settings = {"date": "2026-11-30T01:02:03+00:00", "endpoint": "chat", "model": "m", "ask": {"tokenizer": None}}
    cell = replace(cell_of(QUICK, users(1, 8)), load=Load("replay"))
    found = vllm_result(Bench(settings, ()), cell)
    assert found["request_rate"] == pytest.approx(cell.summary.due_per_s)
    assert vllm_result(Bench(settings, ()), replace(cell, load=users(1, 8)))["request_rate"] == "inf"


@pytest.mark.parametrize("cut", range(4, 20))
def test_a_secret_that_a_message_cut_off_is_hidden_too(cut: int) -> None:
    found = target_of("http://h", headers=("Authorization: Bearer sk-very-secret-indeed",))
    assert found.hide("Incorrect key: sk-very-secret-indeed"[: 15 + cut]) == "Incorrect key: ***"
    assert found.hide("Incorrect key: Bearer sk-very-secret-indeed"[: 15 + cut]) == "Incorrect key: ***"


def test_certificates_are_read_once() -> None:
    assert Tls().context() is Tls().context()
    assert Tls().context() is not Tls(verify=False).context()


def test_a_search_stops_before_a_level_without_a_request() -> None:
    # 4 requests/s for 1 s; 2, 1; 0.5 would be none.
    tried = []

    def play(load: Load) -> Cell:
        tried.append(load.level)
        return replace(cell_of(quick(error_500_every=1)), load=load)

    found = search(play, Load("open", rate=4.0, duration_s=1.0), parse_objectives("ttft_p50=1s"), 0.05)
    assert (found.best, tried) == (None, [4.0, 2.0, 1.0])


def test_a_search_over_a_trace_begins_at_its_own_rate(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    rows = [f"{number / 20},40,2" for number in range(21)]  # 20 a second
    trace.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    with served(quick(ttft_s=0.03, itl_s=0.0, slots=2)) as scene:
        made = loaded(scene.url, Load("replay"), workload=str(trace), slo="ttft_p50=60ms", precision=0.5)
    assert made.cells[0].load.rate == pytest.approx(20.0)
    assert made.cells[1].load.rate == pytest.approx(40.0)
    assert made.found["slo"]["highest"] >= 20.0


def test_a_key_that_was_read_with_its_line_end_is_taken_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret\r\n")
    assert target_of("http://h").headers == (("Authorization", "Bearer sk-very-secret"),)


@pytest.mark.parametrize("value", ["sk-very\nX-Other: secret", "sk-секрет"])
def test_what_no_header_can_hold_is_refused_and_not_repeated(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="header: got 'X-Key'") as one:
        target_of("http://h", headers=(f"X-Key: {value}",))
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(BadInput, match=r"OPENAI_API_KEY: got '\*\*\*'") as other:
        target_of("http://h")
    assert "sk-" not in str(one.value) + str(other.value)


def test_names_and_paths_beyond_ascii_are_sent_in_ascii() -> None:
    found = target_of("http://bücher.example/модель/v1")
    assert found.host == "xn--bcher-kva.example"
    assert found.head("GET", found.path).startswith(b"GET /%D0%BC%D0%BE%D0%B4%D0%B5%D0%BB%D1%8C/v1/chat/completions ")
    assert target_of("http://h/a%20b:c/v1").base == "/a%20b:c"


def test_a_password_that_is_taken_for_a_port_is_not_repeated() -> None:
    with pytest.raises(BadInput) as caught:
        target_of("http://me:hunter2/x@host:8000")
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in caught.value.hint


def test_failed_requests_are_sent_again_only_if_asked_and_times_count_from_the_first() -> None:
    # Each second request to the server fails: of four requests of one user all but the first need a second try.
    cell = cell_of(quick(error_500_every=2), users(1, 4), rules=Rules(retries=1))
    assert cell.summary.by_status == {"ok": 4}
    assert cell.counts["retried"] == 3
    assert sorted(row.retried for row in cell.outcomes) == [0, 1, 1, 1]
    assert np.sort(metrics.ttft_s(cell.table))[1] > 0.25  # a server that is busy gets a pause
    hanging = cell_of(quick(hang_every=2), users(1, 2), rules=Rules(retries=1, timeout_s=0.3), answer="2")
    assert hanging.summary.by_status == {"ok": 2}
    assert metrics.ttft_s(hanging.table).max() > 0.3


def test_a_connection_for_each_request() -> None:
    cell = cell_of(QUICK, rules=Rules(reuse=False))
    assert cell.counts["connections"] == 8
    assert {row.new_connection for row in cell.outcomes} == {True}


def test_a_search_over_a_trace_plays_it_for_as_long_at_every_rate() -> None:
    tried = []

    def play(load: Load) -> Cell:
        tried.append((load.rate, load.requests))
        return replace(cell_of(quick(error_500_every=1)), load=load)

    search(play, Load("replay", rate=4.0, duration_s=3.0), parse_objectives("ttft_p50=1s"), 0.05)
    assert tried[:3] == [(4.0, 12), (2.0, 6), (1.0, 3)]


def test_a_request_that_waits_for_its_second_try_is_given_up_with_the_run() -> None:
    async def given_up() -> list[Exchange]:
        ended: list[Exchange] = []
        target = target_of("http://127.0.0.1:9")
        client = Client(target, target.address(), Rules(retries=9, timeout_s=0.1), ended.append, Pump())
        client.start()
        client.submit(Exchange(0, 0, b"", 0, 0))
        await asyncio.sleep(0.2)  # the first pause goes on, and is no timeout
        assert (client.counts.retried, client.in_flight, ended) == (1, 1, [])
        client.cancel()
        await asyncio.sleep(0.3)
        await client.close()
        return ended

    (exchange,) = asyncio.run(given_up())
    assert exchange.status == "cancelled"


def test_a_connection_that_opens_after_the_timeout_is_no_try_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # Timeout at 0.4 s, the connection is open at 0.5 s, the second try begins at 0.65 s: the first was never sent.
    open_one = Pool._open

    async def slowly(pool: Pool) -> Connection:
        await asyncio.sleep(0.5)
        return await open_one(pool)

    async def answered(url: str) -> Exchange:
        ended: list[Exchange] = []
        target = target_of(url)
        client = Client(target, target.address(), Rules(retries=3, timeout_s=0.4), ended.append, Pump())
        client.start()
        body = b'{"model": "truth", "stream": true, "max_tokens": 2, "messages": [{"role": "user", "content": "hi"}]}'
        head = target.head("POST", target.path) + b"Content-Type: application/json\r\n"
        client.submit(Exchange(0, now_ns(), head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body), 1, 2))
        async with asyncio.timeout(10):
            while not ended:
                await asyncio.sleep(0.01)
        await client.close()
        return ended[0]

    monkeypatch.setattr(Pool, "_open", slowly)
    with served(quick(ttft_s=0.2)) as scene:
        exchange = asyncio.run(answered(scene.url))
        assert (exchange.status, scene.truth.count) == ("ok", exchange.attempt)
    assert exchange.arrival_ns <= exchange.sent_ns <= exchange.first_byte_ns
