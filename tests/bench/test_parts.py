"""Targets and their secrets, server metrics, objectives, the other tool's format."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import tracemalloc
from array import array
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench_scene import QUICK, cell_of, loaded, quick, served, users
from bide import metrics
from bide.bench import words
from bide.bench.asking import Ask, demand_of
from bide.bench.formats.reading import read_runs
from bide.bench.health import Health
from bide.bench.loads import Load
from bide.bench.objectives import Found, broken, knee, parse_objectives, search
from bide.bench.outcome import Outcome
from bide.bench.result import Bench, Cell
from bide.bench.scrape import ServerView, cache_facts, draft_facts, sample_of, server_facts
from bide.bench.selftest import judged, truth_of, truth_process
from bide.bench.session import bench
from bide.bench.summary import summarise
from bide.bench.table import table_of
from bide.bench.target import Tls, target_of
from bide.bench.truth_options import Behaviour
from bide.bench.vllm_json import vllm_result
from bide.errors import BadInput
from bide.facts.hf import source
from bide.records import RequestTable


@pytest.mark.parametrize(
    ("url", "shown", "path"),
    [
        ("localhost:8000", "http://localhost:8000", "/v1/chat/completions"),
        ("http://h/v1/", "http://h:80", "/v1/chat/completions"),
        ("https://h/api/v1", "https://h:443/api", "/api/v1/chat/completions"),
        ("http://h:1/v1/completions", "http://h:1", "/v1/completions"),
    ],
)
def test_urls(url: str, shown: str, path: str) -> None:
    found = target_of(url)
    assert (found.shown, found.path) == (shown, path)


@pytest.mark.parametrize("url", ["ftp://h", "http://", "http://h:99999999"])
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(BadInput, match="url"):
        target_of(url)


def test_secrets_are_sent_and_neither_shown_nor_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    journal = tmp_path / "run.jsonl"
    with served(quick(key="sk-very-secret")) as scene:
        made = loaded(scene.url, users(1, 2), journal)
        wrong = loaded(scene.url, users(1, 2), headers=("Authorization: Bearer sk-other-secret",))
    assert made.cells[0].summary.by_status == {"ok": 2}
    assert made.settings["headers"] == ["Authorization"]
    assert wrong.cells[0].summary.errors == {"HTTP 401: Incorrect API key provided: ***": 2}
    for text in (journal.read_text(), json.dumps(made.to_dict()), json.dumps(wrong.to_dict()), repr(made)):
        assert "secret" not in text
    assert "hidden" not in target_of("http://me:hidden@h/?key=hidden").shown


def test_a_server_that_refuses_ignore_eos_is_asked_without() -> None:
    with served(quick(refuse_ignore_eos=True)) as scene:
        made = loaded(scene.url, users(1, 2), probe=True)
    assert made.settings["probe"]["ignores_eos"] is False
    assert made.cells[0].summary.by_status == {"ok": 2}


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(BadInput, match="answers"):
        loaded("http://127.0.0.1:9", users(1, 1), probe=True)
    assert loaded("http://127.0.0.1:9", users(1, 3)).cells[0].summary.by_status == {"connect_error": 3}


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A key and a certificate for 127.0.0.1 that nobody signed, made by openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl")
    path = tmp_path / "server.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*made, *names, "-keyout", str(path), "-out", f"{path}.crt"], check=True, capture_output=True)
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


def test_tls_is_checked_unless_told_otherwise(certificate: Path) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    found = {}
    with served(QUICK, context) as scene:
        for name, tls in {"none": Tls(), "ca": Tls(ca_file=certificate), "insecure": Tls(verify=False)}.items():
            ask = Ask((users(1, 2),), model="truth", probe=False, scrape_s=0.0, warm_up_s=0.0)
            found[name] = bench(target_of(scene.url, tls=tls), ask).cells[0].summary.by_status
    assert found == {"none": {"connect_error": 2}, "ca": {"ok": 2}, "insecure": {"ok": 2}}


def test_a_model_that_is_not_served() -> None:
    with served() as scene, pytest.raises(BadInput, match="truth"):
        loaded(scene.url, users(1, 1), probe=True, model="other")


VLLM = b"""# HELP vllm:num_requests_running Number of requests
vllm:num_requests_running{engine="0",model_name="m"} 3.0
vllm:num_requests_running{engine="1",model_name="m"} 5.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.75
vllm:num_preemptions_total{engine="0",model_name="m"} 2.0
vllm:num_preemptions_created{engine="0",model_name="m"} 1.7e9
vllm:cache_config_info{block_size="16",cache_dtype="auto",num_gpu_blocks="27642",secret="x"} 1.0
"""
SGLANG = b"""sglang:num_running_reqs{model_name="m",tp_rank="0"} 4.0
sglang:num_running_reqs{model_name="m",tp_rank="1"} 4.0
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 7.0
"""


def test_drafts_are_counted_where_they_are_made() -> None:
    help_alone = b"# HELP vllm:spec_decode_num_draft_tokens_total Number of draft tokens.\n"
    assert draft_facts(VLLM + help_alone) == {}
    counted = b'vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 0.0\n'
    assert draft_facts(VLLM + counted) == {"speculative_algorithm": "vllm:spec_decode_num_draft_tokens_total"}


def test_metrics_of_several_engines_add_up_and_ranks_do_not() -> None:
    engine, sample = sample_of(VLLM, 1.0)
    assert (engine, sample.running, sample.kv_usage, sample.preemptions) == ("vllm", 8.0, 0.5, 2.0)
    assert cache_facts(VLLM) == {"block_size": "16", "cache_dtype": "auto", "num_gpu_blocks": "27642"}
    engine, sample = sample_of(SGLANG, 1.0)
    assert (engine, sample.running, sample.waiting) == ("sglang", 4.0, 7.0)
    assert sample_of(b"go_goroutines 7\n", 0.0)[0] == ""


def test_server_facts_leave_keys_out() -> None:
    assert server_facts({"version": "0.5", "api_key": "x", "tp_size": 2}) == {"version": "0.5", "tp_size": 2}


def test_the_servers_view_is_beside_the_clients_and_survives_json() -> None:
    cell = cell_of(quick(itl_s=0.02), users(6, 24), scrape_s=0.05, answer="16")
    view = cell.server
    assert view.engine == "vllm"
    assert view.most("running") == 6
    again = ServerView.from_dict(json.loads(json.dumps(view.to_dict())))
    assert again.mean("running") == pytest.approx(view.mean("running"))


def test_objectives_are_read() -> None:
    one, other = parse_objectives("ttft_p95=1s,tpot_mean=50ms")
    assert (one.name, one.limit_s, other.name, other.limit_s) == ("ttft_p95", 1.0, "tpot_mean", 0.05)
    with pytest.raises(BadInput, match="ttft_p95"):
        parse_objectives("ttft=1s")


def test_the_search_closes_in_on_the_edge() -> None:
    # A server of 4 slots, 60 ms to a first token: beyond 4 users some wait for a slot, and with 8 each for one other.
    # The edge lies at 4 to 5 users.
    ask_slo = "ttft_p50=80ms"
    with served(quick(slots=4, ttft_s=0.06, itl_s=0.02)) as scene:
        made = loaded(scene.url, users(1, 8), slo=ask_slo, answer="4")
    found = made.found["slo"]
    assert 3 <= found["highest"] < 8  # in between, the median is of those that wait and those that do not
    assert found["first_broken"] == found["highest"] + 1
    assert "ttft_p50" in found["reasons"][0]
    assert found["highest_cell"] is not None
    assert made.to_dict()["cells"][found["highest_cell"]]["breaks"] == []


def test_a_search_that_finds_nothing_says_why() -> None:
    with served() as scene:
        made = loaded(scene.url, users(1, 3), slo="ttft_p50=1ms")
    assert made.found["slo"]["highest"] is None
    assert made.found["slo"]["reasons"]


def test_an_interrupted_search_has_what_it_found() -> None:
    cell = cell_of(QUICK)
    gone = Cell(1, cell.load, cell.outcomes, cell.health, interrupted=True)
    cells = iter([cell, gone])
    found = search(lambda _load: next(cells), Load("open", rate=1.0, requests=8), parse_objectives("ttft_p50=9s"), 0.05)
    assert found == Found(cell, None, (), True)


def test_the_knee_is_where_throughput_stops_to_pay() -> None:
    with served(quick(slots=4, itl_s=0.01)) as scene:
        target = target_of(scene.url)
        levels = tuple(users(count, 6 * count) for count in (1, 4, 16))
        made = bench(target, Ask(levels, prompt="40", answer="8", model="truth", probe=False, scrape_s=0.0))
    assert made.found["knee"]["level"] == 4
    assert knee(made.cells[:2]) is None
    assert broken(made.cells[0], parse_objectives("tpot_p50=1s")) == []


def test_the_other_tools_format_has_its_names_and_units() -> None:
    made = Bench(
        {"date": "2026-11-30T01:02:03+00:00", "endpoint": "chat", "model": "truth", "ask": {"tokenizer": None}}, ()
    )
    found = vllm_result(made, cell_of(quick(error_500_every=4)))
    assert (found["date"], found["backend"], found["completed"], found["failed"]) == (
        "20261130-010203",
        "openai-chat",
        6,
        2,
    )
    assert found["max_concurrency"] == 2
    assert found["request_rate"] == "inf"
    assert len(found["ttfts"]) == len(found["itls"]) == len(found["errors"]) == 8
    good = [ttft for ttft, error in zip(found["ttfts"], found["errors"], strict=True) if not error]
    assert found["mean_ttft_ms"] == pytest.approx(1e3 * sum(good) / 6)
    assert {len(gaps) for gaps in found["itls"]} == {0, 7}
    assert found["output_throughput"] == pytest.approx(48 / found["duration"])
    assert {name for name in found if name.startswith("p99")} == {
        f"p99_{name}_ms" for name in ("ttft", "tpot", "itl", "e2el", "client_queue_time")
    }


def test_gaps_between_chunks_are_shared_by_their_tokens() -> None:
    # One request: a token at 1.0, two at 1.2, one at 1.3: gaps of 0.2 and 0.1 s. A failed one does not count.
    times = (np.array([1.0, 1.2, 1.2, 1.3]), np.array([5.0, 6.0]))
    table = RequestTable.of(
        np.zeros(2),
        np.array([1.0, 5.0]),
        np.array([1.3, 6.0]),
        np.array([1, 1]),
        np.array([4, 2]),
        status=np.array(["ok", "truncated"]),
        token_times_s=times,
    )
    when, gaps, tokens = metrics.chunk_gaps(table)
    assert when.tolist() == [1.2, 1.3]
    assert gaps == pytest.approx([0.2, 0.1])
    assert tokens.tolist() == [2, 1]


def test_a_long_run_is_summed_up_in_little_memory() -> None:
    # 400 answers of 128 tokens, some two in a chunk: what is needed beyond the answers is under 100 bytes a token.
    rows = [
        Outcome(
            number,
            number * 0.1,
            number * 0.1,
            content_s=number * 0.1 + 0.2,
            end_s=number * 0.1 + 3,
            status="ok",
            output_tokens=128,
            chunk_s=array("d", [number * 0.1 + 0.2 + 0.02 * place for place in range(127)]),
            chunk_tokens=array("i", [2, *[1] * 126]),
        )
        for number in range(400)
    ]
    rows[0].chunk_tokens = array("i", [1, 2, *[1] * 125])
    table = table_of(rows)
    summarise(rows, table, 0.0)  # what is imported and kept
    tracemalloc.start()
    try:
        found = summarise(rows, table, 0.0)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {each.metric for each in found.latencies} == {"ttft", "tpot", "itl", "chunk_gap", "e2e"}
    assert most < 100 * 400 * 128


def test_tokens_of_one_a_chunk_are_not_copied() -> None:
    row = Outcome(0, 0.0, chunk_s=array("d", [1.0, 2.0]), chunk_tokens=array("i", [1, 1]), status="ok", output_tokens=2)
    found = table_of([row]).token_times_s
    assert found is not None
    assert np.shares_memory(found[0], np.asarray(row.chunk_s))


def test_the_address_that_listens_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with served() as scene:
        port = int(scene.url.rpartition(":")[2])
        known = socket.getaddrinfo
        told = [(None, None, 0, "", (host, port)) for host in ("127.0.0.9", "127.0.0.1", "127.0.0.1")]
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda host, *a, **k: told if host == "two" else known(host, *a, **k)
        )
        assert target_of(f"http://two:{port}").address() == ("127.0.0.1", port)
    assert target_of(f"http://two:{port}").address() == ("127.0.0.9", port)  # nobody listens: the first is as good


def test_a_server_of_ipv6_is_measured_and_its_metrics_read(tmp_path: Path) -> None:
    try:
        with socket.socket(socket.AF_INET6) as free:
            free.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    journal = tmp_path / "run.jsonl"
    with served(host="::1") as scene:
        assert scene.url.startswith("http://[::1]:")
        made = loaded(scene.url, users(1, 4), journal, probe=True, scrape_s=0.2)
    assert made.settings["url"] == scene.url
    assert made.cells[0].summary.by_status == {"ok": 4}
    assert made.cells[0].server.engine == "vllm"
    assert read_runs(journal)[0].completed == 4


@pytest.mark.parametrize(("prefix", "prompt"), [(40, "40"), (1000, "p50=40,p95=80")])
def test_a_prefix_that_no_prompt_has_room_for_is_refused(prefix: int, prompt: str) -> None:
    ask = Ask((users(1, 50),), prompt=prompt, shared_prefix_tokens=prefix)
    with pytest.raises(BadInput, match="shared_prefix: got"):
        demand_of(ask, ask.loads[0])


def test_a_prefix_is_refused_where_the_trace_says_what_is_shared(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    row = {"timestamp": 0, "input_length": 1024, "output_length": 4, "hash_ids": [1, 2]}
    trace.write_text("\n".join(json.dumps({**row, "timestamp": 100 * number}) for number in range(4)))
    ask = Ask((Load("replay"),), workload=str(trace), shared_prefix_tokens=10)
    with pytest.raises(BadInput, match="the workload says what its prompts share"):
        demand_of(ask, ask.loads[0])


def test_prompts_that_are_shorter_than_the_prefix_are_counted() -> None:
    cell = cell_of(QUICK, users(2, 20), prompt="p50=40,p95=200", shared_prefix_tokens=40)
    short = sum(row.prompt_asked <= 40 for row in cell.outcomes)
    assert 0 < short < 20
    assert any(text.startswith(f"{short} prompts have no room") for text in cell.warnings())


def test_a_seldom_lag_spoils_the_tail_and_not_the_means() -> None:
    cell = cell_of(quick(ttft_s=0.1, itl_s=0.005))
    tail = replace(cell, health=Health(lag_p50_s=0.0, lag_p99_s=0.008))
    often = replace(cell, health=Health(lag_p50_s=0.004, lag_p99_s=0.008))
    assert tail.client_kept_up
    assert any("the tail of ITL" in text for text in tail.warnings())
    assert not often.client_kept_up


def test_an_unknown_tokenizer_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tokenizers")

    def offline(*_args: object) -> Path:
        raise OSError("no network\nand more")

    monkeypatch.setattr(source, "fetched", offline)
    with pytest.raises(BadInput, match=r"tokenizer: got 'who/what'.*OSError: no network$"):
        words.tokenizer_words("who/what")


def test_a_server_in_its_own_process_agrees_with_the_client() -> None:
    with truth_process(Behaviour(ttft_s=0.1, itl_s=0.01)) as port:
        cell = loaded(f"http://127.0.0.1:{port}", users(4, 12)).cells[0]
        line = judged("closed", 4.0, cell, truth_of(port))
    assert abs(line.ttft_error) < 0.1
    assert abs(line.tpot_error) < 0.1
    assert line.cpu_ms_per_1000_tokens > 0
