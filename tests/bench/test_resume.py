"""A run that is taken up again: what was measured stays as it was, what is missing is sent, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_scene import QUICK, loaded, quick, served, users
from bide.bench import objectives, session
from bide.bench.asking import Ask
from bide.bench.cell import CellPlan
from bide.bench.health import Health
from bide.bench.journal import Journal, read_journal
from bide.bench.kept import load_result
from bide.bench.loads import Load
from bide.bench.measure import Measured, measure
from bide.bench.outcome import Outcome
from bide.bench.result import Bench
from bide.bench.session import bench, resume
from bide.bench.target import target_of
from bide.errors import BadInput


def ask_of(*loads: Load, **more: object) -> Ask:
    plain: dict[str, object] = {"prompt": "40", "answer": "4", "scrape_s": 0.0, "warm_up_s": 0.0}
    return Ask(loads, **(plain | more))  # type: ignore[arg-type]  # fields of an ask


def cut(monkeypatch: pytest.MonkeyPatch, cell: int, keep: int, health: Health | None = None) -> None:
    """The next run ends in `cell`, of which only the first `keep` answers are there; the others were given up."""

    def measured(plan: CellPlan, *rest: object) -> Measured:
        found = measure(plan, *rest)  # type: ignore[arg-type]  # what it was called with
        if rest[2] == cell:
            found.interrupted, found.health = True, health or found.health
        return found

    def forgetful(plan: CellPlan, processes: int, journal: Journal, number: int, watch: object) -> Measured:
        request, seen = journal.request, list[Outcome]()

        def some(of: int, outcome: Outcome) -> None:
            seen.append(outcome)
            if number == cell and len(seen) > keep:
                outcome.status = "cancelled"
            request(of, outcome)

        monkeypatch.setattr(journal, "request", some)
        return measured(plan, processes, journal, number, watch)

    monkeypatch.setattr(session, "measure", forgetful)


def test_a_journal_in_which_nothing_is_missing_is_shown_without_its_server(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with served(quick(slots=4)) as scene:
        target = target_of(scene.url)
        swept = bench(target, ask_of(*(users(n, 8) for n in (1, 2, 4))), tmp_path / "sweep.jsonl")
        found = bench(target, ask_of(users(1, 8), slo="ttft_p50=40ms"), journal)
        sent = scene.truth.count
        assert resume(target, journal).found == found.found
    again = resume(target, tmp_path / "sweep.jsonl")  # nobody listens any more
    assert scene.truth.count == sent
    assert again.found == swept.found
    assert [len(cell.outcomes) for cell in again.cells] == [8, 8, 8]
    assert [cell.load for cell in resume(target, journal).cells] == [cell.load for cell in found.cells]


def test_a_search_that_was_cut_off_goes_on_at_the_load_of_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "run.jsonl"
    ask = ask_of(Load("open", requests=6), slo="ttft_p50=9s", probe=True)
    monkeypatch.setattr(objectives, "_MOST_CELLS", 2)
    with served(quick(itl_s=0.02)) as scene:
        target = target_of(scene.url)
        with monkeypatch.context() as patch:
            cut(patch, 0, 3)
            first = bench(target, ask, journal).cells[0]
        whole = resume(target, journal)  # the probe is not as fast as before to the microsecond, nor is its rate
    assert first.interrupted
    assert whole.cells[0].load == first.load
    assert sorted(row.number for row in whole.cells[0].outcomes) == list(range(6))
    assert (whole.cells[0].missing, whole.cells[0].interrupted) == (0, False)


def test_another_model_is_not_mixed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "run.jsonl"
    with served() as scene:
        target = target_of(scene.url)
        with monkeypatch.context() as patch:
            cut(patch, 0, 1)
            bench(target, ask_of(users(1, 4)), journal)
        monkeypatch.setattr("bide.bench.truth_served.MODEL", "other")
        with pytest.raises(BadInput, match=r"model: got 'truth'.*other"):
            resume(target, journal)


def test_what_was_given_up_and_sent_again_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "run.jsonl"
    with served() as scene:
        target = target_of(scene.url)
        with monkeypatch.context() as patch:
            cut(patch, 0, 5)
            bench(target, ask_of(users(2, 8)), journal)
        assert sorted(row.status for row in load_result(journal).cells[0].outcomes) == ["cancelled"] * 3 + ["ok"] * 5
        whole = resume(target, journal)
    for made in (whole, load_result(journal)):
        assert sorted(row.number for row in made.cells[0].outcomes) == list(range(8))
        assert {row.status for row in made.cells[0].outcomes} == {"ok"}


def test_a_client_that_did_not_keep_up_before_the_cut_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "run.jsonl"
    late = Health(lag_p50_s=1.0, lag_p99_s=1.0, cpu_s=0.5, wall_s=2.0, stalls=1)
    with served() as scene:
        target = target_of(scene.url)
        with monkeypatch.context() as patch:
            cut(patch, 0, 2, late)
            bench(target, ask_of(users(1, 4)), journal)
        cell = resume(target, journal).cells[0]
    assert cell.health.lag_p99_s >= 1.0
    assert cell.health.wall_s > 2.0
    assert not cell.client_kept_up
    assert cell.counts["connections"] >= 2


def test_sittings_are_joined_to_the_worse_of_both() -> None:
    one = Health(0.1, 0.2, 0.3, cpu_s=1.0, wall_s=2.0, processes=1, stalls=1, shifted_s=0.5)
    other = Health(0.0, 0.4, 0.3, cpu_s=3.0, wall_s=4.0, processes=2, spared_cores=1)
    found = one.joined(other)
    assert (found.lag_p50_s, found.lag_p99_s, found.lag_max_s) == (0.1, 0.4, 0.3)
    assert (found.cpu_s, found.wall_s, found.processes, found.stalls) == (4.0, 6.0, 2, 1)
    assert (found.shifted_s, found.spared_cores) == (0.5, 1)


def test_turns_of_a_conversation_that_are_missing_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, journal = tmp_path / "trace.csv", tmp_path / "run.jsonl"
    # Two conversations of three turns; what is kept are the first turns and one second turn.
    rows = [f"{0.02 * turn},{20 + 10 * turn},2,{who},{0.02 if turn else ''}" for turn in range(3) for who in "ab"]
    trace.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens,session,think_s", *rows]) + "\n")
    ask = ask_of(Load("replay"), workload=str(trace), follow_sessions=True)
    with served(QUICK) as scene:
        target = target_of(scene.url)
        with monkeypatch.context() as patch:
            cut(patch, 0, 3)
            bench(target, ask, journal)
        whole: Bench = resume(target, journal)
    cell = whole.cells[0]
    assert sorted(row.number for row in cell.outcomes) == list(range(6))
    assert (cell.missing, cell.summary.by_status) == (0, {"ok": 6})
    by_number = {row.number: row for row in cell.outcomes}
    # 0 and 1 begin, 2 and 3 follow them, 4 and 5 follow those. Missing were 3, 4 and 5, of which 5 follows 3.
    assert by_number[5].arrival_s >= (by_number[3].end_s or 0.0)


def test_the_load_of_a_journal_is_read_back(tmp_path: Path) -> None:
    with served() as scene:
        loaded(scene.url, users(1, 2), tmp_path / "run.jsonl")
    (notes,) = read_journal(tmp_path / "run.jsonl").cells.values()
    assert (notes.load, notes.is_whole) == (users(1, 2), True)
