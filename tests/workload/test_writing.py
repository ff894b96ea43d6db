"""What is written is read again as it was; the same trace gives the same bytes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bide.errors import BadInput
from bide.sourced import Source
from bide.workload.blocks import Blocks
from bide.workload.measuring.reuse import reuse
from bide.workload.reading.asking import Ask
from bide.workload.reading.reader import read
from bide.workload.trace import Trace
from bide.workload.writing import lost, write

DATA = Path(__file__).parent / "data"
WAYS = [
    ("bide", "t.csv"),
    ("bide", "t.jsonl"),
    ("bide", "t.parquet"),
    ("bide", "t.jsonl.gz"),
    ("azure", "t.csv"),
    ("azure", "t.csv.gz"),
    ("burstgpt", "t.csv"),
    ("mooncake", "t.jsonl"),
    ("timed-trace", "t.jsonl"),
    ("bailian", "t.jsonl"),
    ("vidur", "t.csv"),
]


@pytest.fixture(scope="module")
def published() -> Trace:
    return read([DATA / "mooncake-conversation-head.jsonl.gz"], Ask(spread_ticks=False)).trace


@pytest.mark.parametrize(("name", "file"), WAYS)
def test_every_format_gives_back_what_it_holds(published: Trace, tmp_path: Path, name: str, file: str) -> None:
    assert write(published, tmp_path / file, name) == name
    again = read([tmp_path / file], Ask(spread_ticks=False)).trace
    assert again.prompt_tokens.tolist() == published.prompt_tokens.tolist()
    assert again.output_tokens.tolist() == published.output_tokens.tolist()
    assert again.arrival_s == pytest.approx(published.arrival_s, abs=1e-6)
    if "blocks" not in lost(published, name):
        assert again.blocks is not None
        assert published.blocks is not None
        one, other = reuse(again.blocks, again.prompt_tokens), reuse(published.blocks, published.prompt_tokens)
        assert one is not None
        assert other is not None
        assert one.unlimited == pytest.approx(other.unlimited)


@pytest.mark.parametrize(("name", "file"), WAYS)
def test_the_same_trace_gives_the_same_bytes(published: Trace, tmp_path: Path, name: str, file: str) -> None:
    (tmp_path / "again").mkdir()
    for path in (tmp_path / file, tmp_path / "again" / file):
        write(published, path, name)
    assert (tmp_path / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


def test_mooncake_s_own_lines_come_back(tmp_path: Path) -> None:
    # whole milliseconds, 512-token blocks, ids in the order in which they first come: the published form
    published = gzip.decompress((DATA / "mooncake-conversation-head.jsonl.gz").read_bytes()).splitlines()
    trace = read([DATA / "mooncake-conversation-head.jsonl.gz"], Ask(spread_ticks=False)).trace
    write(trace, tmp_path / "m.jsonl", "mooncake")
    written = (tmp_path / "m.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in written] == [json.loads(line) for line in published]


def trace(**columns: object) -> Trace:
    source = Source("by hand", kind="given")
    return Trace(np.array([40, 50]), np.array([5, 0]), np.array([0.0, 1.5]), source, **columns)  # type: ignore[arg-type]


def test_sessions_and_pauses_survive_in_bide_s_own_columns(tmp_path: Path) -> None:
    whole = trace(session=np.array([3, 3]), think_s=np.array([np.nan, 0.25]), blocks=Blocks.of([[7], [7, 8]], 20))
    for file in ("t.csv", "t.jsonl", "t.parquet"):
        write(whole, tmp_path / file, "bide")
        again = read([tmp_path / file], Ask(block_tokens=20)).trace
        assert again.session is not None
        assert again.session.tolist() == [0, 0] or len(set(again.session)) == 1
        assert again.think_s is not None
        assert np.isnan(again.think_s[0])
        assert again.think_s[1] == 0.25
        assert again.blocks is not None
        assert again.blocks.counts.tolist() == [1, 2]


def test_a_bailian_turn_names_the_one_before_it(tmp_path: Path) -> None:
    write(trace(session=np.array([4, 4])), tmp_path / "t.jsonl", "bailian")
    rows = pl.read_ndjson(tmp_path / "t.jsonl")
    assert rows["parent_chat_id"].to_list() == [-1, 0]
    assert rows["turn"].to_list() == [1, 2]


def test_the_rest_of_a_prompt_gets_an_id_of_its_own_where_a_format_wants_one(tmp_path: Path) -> None:
    write(trace(blocks=Blocks.of([[0, 1], [0, 2]], 16)), tmp_path / "t.jsonl", "timed-trace")
    rows = pl.read_ndjson(tmp_path / "t.jsonl")["hash_ids"].to_list()
    assert [len(ids) for ids in rows] == [3, 4]  # 40 and 50 tokens
    assert rows[0][0] == rows[1][0]
    assert not set(rows[0][1:]) & set(rows[1][1:])


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("mooncake", "t.csv", "a file ending in .jsonl for mooncake"),
        ("bide", "t.txt", "ending in .csv, .jsonl, .parquet"),
        ("mooncakes", "t.jsonl", "Did you mean mooncake"),
        ("bide", "none/t.csv", "can be written"),
    ],
)
def test_what_cannot_be_written_is_one_error(tmp_path: Path, name: str, file: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        write(trace(), tmp_path / file, name)
    assert said in str(caught.value)


def test_a_trace_without_times_fits_only_where_none_are_needed(tmp_path: Path) -> None:
    bare = Trace(np.array([40]), np.array([5]), None, Source("by hand", kind="given"))
    with pytest.raises(BadInput, match="no times"):
        write(bare, tmp_path / "t.csv", "azure")
    for name in ("bide", "vidur"):
        write(bare, tmp_path / "t.csv", name)
        assert read([tmp_path / "t.csv"]).trace.arrival_s is None
