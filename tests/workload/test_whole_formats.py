"""Formats with a reader of their own: agent sessions, conversations in words, clients described by rates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bide.errors import BadInput
from bide.workload.reading.asking import Ask
from bide.workload.reading.reader import read

DATA = Path(__file__).parent / "data"


def test_an_agent_session_with_sub_agents() -> None:
    # the file's own totals: parent 1,576,322 in; sub-agents 677,797 in (2 of them, 12 requests); 19,504 out together
    trace = read([DATA / "weka-trace-0291.json.gz"]).trace
    assert trace.session is not None
    assert trace.think_s is not None
    assert trace.blocks is not None
    assert trace.arrival_s is not None
    own = trace.session == trace.session[0]
    assert (trace.prompt_tokens[own].sum(), trace.prompt_tokens[~own].sum()) == (1_576_322, 677_797)
    assert trace.output_tokens.sum() == 19_504
    assert sorted(np.unique(trace.session, return_counts=True)[1].tolist()) == [5, 7, 20]
    assert (trace.blocks.counts == trace.prompt_tokens // 64).all()


def session(requests: list[list[float]]) -> dict[str, Any]:
    return {"id": "s", "block_size": 64, "requests": requests}


def test_compact_sessions_share_the_tokens_that_were_seen(tmp_path: Path) -> None:
    # [t, prompt, output, seen, api, think, depth]: 10 blocks, then 9 of them again and 3 new
    path = tmp_path / "sessions.jsonl"
    one = session([[0.0, 640, 5, 0, 1.0, 0.0, 0], [10.0, 800, 6, 600, 1.0, 9.0, 0]])
    path.write_text(json.dumps(one) + "\n" + json.dumps(one) + "\nno session\n")
    reading = read([path])
    trace = reading.trace
    assert trace.blocks is not None
    assert trace.session is not None
    order = np.flatnonzero(trace.session == 0)
    first, second = (set(trace.blocks.chain(row).tolist()) for row in order)
    assert (len(first), len(second), len(first & second)) == (10, 12, 9)
    other = set(trace.blocks.chain(int(np.flatnonzero(trace.session == 1)[0])).tolist())
    assert not other & first
    assert [(d.kind, d.count) for d in reading.report.dropped] == [("not_json", 1)]


def test_sessions_that_say_no_beginning_do_not_begin_together(tmp_path: Path) -> None:
    path = tmp_path / "sessions.jsonl"
    path.write_text(
        "".join(json.dumps(session([[0.0, 64, 5, 0, 1, 0, 0], [99.0, 64, 5, 0, 1, 9, 0]])) + "\n" for _ in range(50))
    )
    trace = read([path]).trace
    assert trace.arrival_s is not None
    assert (trace.arrival_s < 10).sum() < 20
    assert trace.assumptions[0].name == "beginnings of sessions"


CHAT = [
    {"from": "human", "value": "a" * 40},
    {"from": "gpt", "value": "b" * 80},
    {"from": "human", "value": "c" * 4},
    {"from": "gpt", "value": "d" * 8},
]


def test_conversations_in_words_grow_turn_by_turn(tmp_path: Path) -> None:
    # four characters a token: prompts of 10 and 10 + 20 + 1, answers of 20 and 2
    path = tmp_path / "sharegpt.json"
    path.write_text(json.dumps([{"id": "x", "conversations": CHAT}, {"id": "y", "conversations": CHAT[:1]}]))
    reading = read([path])
    assert reading.report.format == "sharegpt"
    assert reading.trace.prompt_tokens.tolist() == [10, 31]
    assert reading.trace.output_tokens.tolist() == [20, 2]
    assert reading.trace.arrival_s is None
    assert [(d.kind, d.count) for d in reading.report.dropped] == [("no_exchange", 1)]
    assert reading.trace.assumptions[0].name == "characters of a token"


def test_prompts_in_words_with_and_without_output_lengths(tmp_path: Path) -> None:
    path = tmp_path / "custom.jsonl"
    path.write_text('{"prompt": "12345678", "output_tokens": 9}\n{"prompt": "1234"}\n{"other": 1}\n')
    reading = read([path])
    assert reading.report.format == "vllm-custom"
    assert reading.trace.prompt_tokens.tolist() == [2, 1]
    assert reading.trace.output_tokens.tolist() == [9, 0]


def test_a_tokenizer_counts_exactly(tmp_path: Path) -> None:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    path = tmp_path / "custom.jsonl"
    path.write_text('{"prompt": "one two three four five", "output_tokens": 9}\n')
    for given in (tmp_path, tmp_path / "tokenizer.json"):
        reading = read([path], Ask(tokenizer=str(given)))
        assert reading.trace.prompt_tokens.tolist() == [5]
        assert reading.trace.assumptions == ()
    with pytest.raises(BadInput, match="tokenizer"):
        read([path], Ask(tokenizer=str(path)))


def client(folder: Path, number: int, rates: list[float], prompt: str, output: str) -> None:
    rows = [f"{600 * i},{rate},1.0,Gamma,1.0,{1 / rate if rate else 0}" for i, rate in enumerate(rates)]
    (folder / f"chunk-{number}-trace.csv").write_text("\n".join(rows).replace(",0,1.0,Gamma,1.0,0", ",0,0,,0,0") + "\n")
    dataset = {"0": {"input_tokens": prompt, "output_tokens": output}}
    (folder / f"chunk-{number}-dataset.json").write_text(json.dumps(dataset))


def test_clients_are_drawn_at_their_rates_with_their_lengths(tmp_path: Path) -> None:
    client(tmp_path, 0, [4.0, 0.0, 0.0], "{100: 0.5, 300: 0.5}", "{10: 1.0}")
    client(tmp_path, 1, [1.0, 1.0, 3.0], "{7: 1.0}", "{20: 1.0}")
    reading = read([tmp_path])
    trace = reading.trace
    drawn = next(f for f in reading.report.findings if f.kind == "drawn")
    # 600 s of 4 + 1, 0 + 1, 0 + 3 requests a second
    assert (drawn.values["mean_rps"], drawn.values["peak_window_rps"]) == (pytest.approx(3.0), pytest.approx(5.0))
    assert len(trace) == pytest.approx(600 * (5 + 1 + 3), rel=0.05)
    assert set(trace.prompt_tokens) == {7, 100, 300}
    assert (trace.output_tokens[trace.prompt_tokens == 7] == 20).all()
    assert trace.arrival_s is not None
    assert trace.arrival_s[trace.prompt_tokens != 7].max() < 600


def test_a_time_without_requests_has_no_lengths(tmp_path: Path) -> None:
    client(tmp_path, 0, [0.0, 2.0], "{5: 1.0}", "{7: 1.0}")
    dataset = {
        "0": {"input_tokens": "{}", "output_tokens": "{}"},
        "600": {"input_tokens": "{5: 1}", "output_tokens": "{7: 1}"},
    }
    (tmp_path / "chunk-0-dataset.json").write_text(json.dumps(dataset))
    assert set(read([tmp_path]).trace.prompt_tokens) == {5}


@pytest.mark.parametrize("prompt", ["{5: -1.0}", "{5: 0.0}", "{-5: 1.0}", "[1, 2]", "import os", "{5: 1e999}"])
def test_lengths_of_a_client_that_cannot_be(tmp_path: Path, prompt: str) -> None:
    client(tmp_path, 0, [1.0, 2.0], prompt, "{7: 1.0}")
    with pytest.raises(BadInput, match="as ServeGen writes it"):
        read([tmp_path])


def test_only_the_busiest_stretch_is_drawn_where_all_would_be_too_many(tmp_path: Path) -> None:
    client(tmp_path, 0, [1.0, 9.0, 2.0, 1.0], "{5: 1.0}", "{5: 1.0}")
    trace = read([tmp_path], Ask(requests=6000)).trace
    assert len(trace) == 6000
    assert trace.span_s < 1200  # the windows of 9 and 2 a second


def test_an_aggregate_is_drawn_from_its_quantiles(tmp_path: Path) -> None:
    quantiles = {"q": [0.0, 0.5, 1.0], "value": [10, 100, 100]}
    document = {
        "window_s": 600,
        "start_ts": 0,
        "rate_rps": [2.0, 3.0],
        "length_quantiles": {"input_tokens": quantiles, "output_tokens": quantiles},
    }
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    trace = read([path]).trace
    assert len(trace) == pytest.approx(3000, rel=0.1)
    assert np.mean(trace.prompt_tokens == 100) == pytest.approx(0.5, abs=0.05)
    assert {a.name for a in trace.assumptions} == {"prompt and output lengths", "arrivals"}


def test_a_client_without_its_other_half_is_refused(tmp_path: Path) -> None:
    client(tmp_path, 0, [1.0, 1.0], "{5: 1.0}", "{5: 1.0}")
    (tmp_path / "chunk-0-dataset.json").unlink()
    with pytest.raises(BadInput, match="side by side"):
        read([tmp_path])


def test_files_of_two_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"conversations": CHAT}]))
    (tmp_path / "b.jsonl").write_text('{"prompt": "12345678"}\n')
    with pytest.raises(BadInput, match="files of one format"):
        read([tmp_path])
