"""Load patterns, agendas and prompts as values."""

from __future__ import annotations

import itertools
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_scene import QUICK, cell_of, loaded, quick, served, users
from bide.bench.agenda import ClosedAgenda, PlannedAgenda
from bide.bench.asking import Ask, lengths
from bide.bench.client import Rules
from bide.bench.demand import Demand, drawn_demand
from bide.bench.loads import Load, arrivals_s, user_starts_s
from bide.bench.prompts import PromptMaker, Sharing, Tokens
from bide.bench.session import bench
from bide.bench.target import target_of
from bide.bench.words import Ribbon, common_words, file_words
from bide.errors import BadInput
from bide.workload.blocks import Blocks
from bide.workload.modelling.distributions import Fixed


@pytest.mark.parametrize(("burstiness", "variation"), [(math.inf, 0.0), (1.0, 1.0), (0.25, 2.0)])
def test_gaps_have_the_rate_and_the_burstiness_asked(burstiness: float, variation: float) -> None:
    # The coefficient of variation of gamma gaps is 1 / sqrt(shape).
    times = arrivals_s(Load("open", rate=50.0, requests=20_000, burstiness=burstiness), 3)
    gaps = np.diff(times)
    assert 1 / gaps.mean() == pytest.approx(50, rel=0.002)
    assert gaps.std() / gaps.mean() == pytest.approx(variation, abs=0.06)


def test_a_ramp_grows_evenly() -> None:
    # From 10 to 30 a second over 100 s: 2,000 requests, 625 of them (10 * 50 + 0.2 * 50^2 / 2 = 750) in the first half.
    times = arrivals_s(Load("open", rate=30.0, duration_s=100.0, ramp_from=10.0, burstiness=math.inf), 0)
    assert len(times) == 2000
    assert abs(np.searchsorted(times, 50.0) - 750) <= 1
    assert times[-1] < 100.0


def test_users_begin_one_after_another() -> None:
    assert user_starts_s(Load("closed", concurrency=4, requests=4, spread_s=2.0), 9.0) == [0.0, 0.5, 1.0, 1.5]
    ramp = user_starts_s(Load("closed", concurrency=4, duration_s=10.0, ramp_from=2), 0.0)
    assert ramp[:2] == [0.0, 0.0]
    assert 0 < ramp[2] < ramp[3] < 10.0


def test_a_user_sends_again_after_its_answer_and_a_thought() -> None:
    agenda = ClosedAgenda([0], iter(range(3)), 50, None)
    assert agenda.pop() == (0, 0)
    assert agenda.due_ns() is None
    agenda.answered(0, 200)
    assert agenda.pop() == (1, 250)


def test_a_closed_load_ends_with_its_time() -> None:
    agenda = ClosedAgenda([0], itertools.count(), 0, 100)
    agenda.pop()
    agenda.answered(0, 100)
    assert agenda.due_ns() is None


def test_a_load_needs_an_end() -> None:
    with pytest.raises(BadInput, match="requests"):
        Load("open", rate=1.0)


@pytest.mark.parametrize(
    ("field", "load"),
    [
        ("rate", {"rate": math.nan}),
        ("rate", {"rate": math.inf}),
        ("rate", {"rate": 1e-300}),
        ("concurrency", {"kind": "closed", "concurrency": 10**11}),
        ("requests", {"rate": 1.0, "requests": 10**20}),
        ("burstiness", {"rate": 1.0, "burstiness": 1e-9}),
        ("ramp", {"rate": 1.0, "ramp_from": math.nan, "duration_s": 9.0}),
        ("duration", {"rate": 1e6, "duration_s": 1e6}),
    ],
)
def test_a_load_that_no_client_could_send_is_refused(field: str, load: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        Load(**{"kind": "open", "requests": 5, **load})
    assert caught.value.field == field


def maker(demand: Demand, salt: int = 5, prefix: int = 0) -> PromptMaker:
    return PromptMaker(Ribbon(common_words(), 1), demand, Tokens(), Sharing(salt, prefix), 0)


def test_prompts_have_their_words_and_are_all_different() -> None:
    prompts = maker(drawn_demand(Fixed(200.0), Fixed(8.0), 64, 0))
    texts = [prompts.text(number).decode() for number in range(64)]
    assert {len(text.split()) for text in texts} == {200}
    assert len({" ".join(text.split()[:6]) for text in texts}) == 64
    assert prompts.text(3) == maker(prompts.demand).text(3)
    assert prompts.text(3) != maker(prompts.demand, salt=6).text(3)


def test_a_shared_prefix_is_shared_and_no_more() -> None:
    prompts = maker(drawn_demand(Fixed(100.0), Fixed(8.0), 8, 0), prefix=60)
    one, other = (prompts.text(number).split() for number in (0, 1))
    assert one[:60] == other[:60]
    assert one[60:66] != other[60:66]


def test_chains_of_blocks_share_what_the_trace_shared() -> None:
    chains = Blocks.of([[0, 1], [0, 2], [3, 1]], 16)
    counts = np.array([32, 40, 32])
    prompts = maker(Demand(counts, np.array([4, 4, 4]), "", blocks=chains))
    one, two, three = (prompts.text(number).split() for number in range(3))
    assert one[:16] == two[:16]
    assert one[16:20] != two[16:20]
    assert one[:4] != three[:4]
    assert one[16:] == three[16:]
    assert len(two) == 40


def test_vocabulary() -> None:
    words = common_words().words
    assert len(words) == len(set(words)) > 200
    assert all(word.isascii() and word.islower() for word in words)


def test_real_text_keeps_its_order(tmp_path) -> None:  # type: ignore[no-untyped-def]  # pytest's path
    path = tmp_path / "text.txt"
    path.write_text(" ".join(f"w{number}" for number in range(100)))
    ribbon = Ribbon(file_words(path), 0, real=True)
    assert ribbon.cut(98, 4) == b" w98 w99 w0 w1"
    assert len(ribbon.cut(5, 1000).split()) == 1000


@pytest.mark.parametrize(
    ("text", "mean"), [("512", 512), ("p50=100,p95=300", None), ("uniform:low=10,high=20", 15), ("mean=200,sd=20", 200)]
)
def test_lengths(text: str, mean: float | None) -> None:
    found = lengths(text, "prompt").even(2000, 0)
    assert found.min() >= 1
    if mean is not None:
        assert found.mean() == pytest.approx(mean, rel=0.02)


def test_what_is_asked_survives_json() -> None:
    import json

    ask = Ask((Load("open", rate=2.0, requests=3, burstiness=math.inf), users(2, 4)), limits_s={"ttft": 1.0})
    assert Ask.from_dict(json.loads(json.dumps(ask.to_dict()))) == ask


def test_a_trace_is_played_at_its_times_and_scaled(tmp_path) -> None:  # type: ignore[no-untyped-def]  # pytest's path
    trace = tmp_path / "trace.csv"
    rows = [f"{number / 10},{30 + number},{2 + number % 3}" for number in range(20)]
    trace.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    cell = cell_of(QUICK, Load("replay", requests=20), workload=str(trace), scale=4.0)
    gaps = np.diff(cell.table.arrival_s)
    assert gaps.min() >= 1 / 40 - 1e-6  # recorded 0.1 s apart, four times as fast
    assert gaps.sum() <= 19 / 40 + cell.health.shifted_s + 1e-6
    assert cell.table.output_tokens.tolist() == [2 + number % 3 for number in range(20)]
    assert sorted(row.prompt_asked for row in cell.outcomes) == list(range(30, 50))


def test_turns_of_a_conversation_wait_for_one_another(tmp_path) -> None:  # type: ignore[no-untyped-def]  # pytest's path
    trace = tmp_path / "trace.csv"
    rows = [f"{0.01 * number},{20 + 10 * number},4,a,{0.05 if number else ''}" for number in range(4)]
    trace.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens,session,think_s", *rows]) + "\n")
    with served(quick(ttft_s=0.05)) as scene:
        load = Load("replay", requests=4)
        cell = loaded(scene.url, load, workload=str(trace), follow_sessions=True).cells[0]
    rows_by_number = sorted(cell.outcomes, key=lambda row: row.number)
    for before, after in itertools.pairwise(rows_by_number):
        assert after.arrival_s - (before.end_s or 0) == pytest.approx(0.05, abs=1e-6)


def test_several_processes_share_the_load() -> None:
    with served() as scene:
        made = loaded(scene.url, users(4, 20), processes=2)
        opened = loaded(scene.url, Load("open", rate=50.0, requests=20), processes=2)
    assert made.cells[0].health.processes == 2
    for run in (made, opened):
        assert sorted(row.number for row in run.cells[0].outcomes) == list(range(20))
        assert run.cells[0].summary.by_status == {"ok": 20}


def test_a_turn_that_is_late_is_sent_and_moves_no_schedule() -> None:
    # The client stood still: request 2 was planned for 100, the turn after request 0 was due at 60, and now it is 1000.
    agenda = PlannedAgenda([0, 2], [0, 100], turns={0: (1, 10)})
    assert agenda.pop() == (0, 0)
    agenda.answered(0, 50)
    assert agenda.shift(940) is False
    assert agenda.pop() == (1, 60)
    assert agenda.shift(900) is True
    assert agenda.pop() == (2, 1000)


def test_a_client_that_stood_still_goes_on_with_conversations(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    rows = [f"{0.01 * turn},20,4,{who},{0.1 if turn else ''}" for turn in range(12) for who in "abc"]
    trace.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens,session,think_s", *rows]) + "\n")
    stops = iter([0.3])
    with served(QUICK) as scene:
        plain = Ask(
            (Load("replay"),), workload=str(trace), follow_sessions=True, model="truth", probe=False, scrape_s=0.0
        )
        made = bench(target_of(scene.url), plain, None, lambda *_going: time.sleep(next(stops, 0.0)))
    assert made.cells[0].summary.by_status["ok"] > 0
    assert sorted(row.number for row in made.cells[0].outcomes) == list(range(36))


def test_what_waits_for_room_is_sent_in_its_order_and_never_beside_another() -> None:
    # 400 a second, answered at once, one in flight: whenever an answer ends others are due just then.
    load = Load("open", rate=400.0, requests=200, burstiness=math.inf)
    with served(quick(ttft_s=0.004, itl_s=0.0)) as scene:
        cell = loaded(scene.url, load, answer="1", rules=Rules(max_in_flight=1)).cells[0]
        assert scene.truth.log.most_active == 1
    assert cell.counts["most_in_flight"] == 1
    rows = sorted(cell.outcomes, key=lambda row: row.number)
    sent = [row.sent_s or 0.0 for row in rows]
    assert sent == sorted(sent)
