"""Traces drawn from models: the same seed the same, lengths and sharing as recorded, loops that wait."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bide.errors import BadInput
from bide.sourced import Source
from bide.workload.lengths import parse_lengths
from bide.workload.measuring.reuse import reuse
from bide.workload.modelling.arriving import poisson
from bide.workload.modelling.choosing import ARRIVALS, LENGTHS, Choice, model_of
from bide.workload.modelling.distributions import Fixed
from bide.workload.modelling.model import ClosedLoop, Model, sample, sample_for
from bide.workload.modelling.pairs import Recorded
from bide.workload.modelling.sessions import Drawn, Growing, Pace
from bide.workload.modelling.shared import SystemPrompt
from bide.workload.reading.reader import read
from bide.workload.trace import Trace

DATA = Path(__file__).parent / "data"
EXAMPLE = Path(__file__).parents[2] / "examples" / "traces" / "azure-conv-2023-peak15min.csv"
SOURCE = Source("by hand", kind="given")


@pytest.fixture(scope="module")
def recorded() -> Trace:
    return read([EXAMPLE]).trace


def choice(lengths: str = "pairs", arrivals: str | None = None) -> Choice:
    return Choice(lengths=lengths, arrivals=arrivals, users=20 if arrivals == "closed" else None)


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_the_same_seed_is_the_same_trace(recorded: Trace, lengths: str, arrivals: str) -> None:
    model = model_of(recorded, choice(lengths, arrivals))
    one, same, other = (sample(model, 500, seed) for seed in (1, 1, 2))
    for column in ("prompt_tokens", "output_tokens", "arrival_s"):
        assert getattr(one, column).tolist() == getattr(same, column).tolist()
    assert one.prompt_tokens.tolist() != other.prompt_tokens.tolist()


def test_drawn_pairs_are_recorded_pairs(recorded: Trace) -> None:
    pairs = set(zip(recorded.prompt_tokens.tolist(), recorded.output_tokens.tolist(), strict=True))
    drawn = sample(model_of(recorded, choice()), 2000, 0)
    assert set(zip(drawn.prompt_tokens.tolist(), drawn.output_tokens.tolist(), strict=True)) <= pairs


def test_measured_rates_give_the_recorded_rate(recorded: Trace) -> None:
    model = model_of(recorded, choice(arrivals="rates"))
    rates = [sample(model, 6541, seed).requests_per_s for seed in range(10)]
    assert np.mean(rates) == pytest.approx(recorded.requests_per_s, rel=0.02)  # type: ignore[arg-type]


def test_arrivals_do_not_depend_on_lengths(recorded: Trace) -> None:
    one, other = (sample(model_of(recorded, choice(lengths)), 300, 4) for lengths in ("pairs", "lognormal"))
    assert one.arrival_s is not None
    assert other.arrival_s is not None
    assert one.arrival_s.tolist() == other.arrival_s.tolist()


def test_a_duration_ends_in_time(recorded: Trace) -> None:
    drawn = sample_for(model_of(recorded, Choice(rps=3.0, arrivals="poisson")), 1000.0, 0)
    assert drawn.arrival_s is not None
    assert drawn.arrival_s[-1] < 1000
    assert len(drawn) == pytest.approx(3000, abs=4 * 3000**0.5)
    with pytest.raises(BadInput, match="number of requests instead"):
        sample_for(model_of(recorded, choice(arrivals="closed")), 10.0, 0)


def test_sessions_drawn_again_share_as_much_as_recorded() -> None:
    trace = read([DATA / "weka-trace-0291.json.gz"]).trace
    drawn = sample(model_of(trace, Choice(rps=0.2)), 400, 0)
    assert trace.blocks is not None
    assert drawn.blocks is not None
    assert drawn.session is not None
    once, often = (reuse(t.blocks, t.prompt_tokens) for t in (trace, drawn) if t.blocks is not None)
    assert once is not None
    assert often is not None
    assert often.unlimited == pytest.approx(once.unlimited, abs=0.05)
    firsts = [int(drawn.blocks.chain(int(np.flatnonzero(drawn.session == s)[0]))[0]) for s in np.unique(drawn.session)]
    shared = [first for first in set(firsts) if firsts.count(first) > 1]
    assert len(shared) == 1  # the two recorded sub-agents begin alike, and so do all that are drawn; the others do not


def test_conversations_without_names_are_drawn_with_what_all_share() -> None:
    trace = read([DATA / "mooncake-conversation-head.jsonl.gz"]).trace
    model = model_of(trace, Choice())
    drawn = sample(model, 1000, 0)
    assert drawn.session is None
    assert drawn.blocks is not None
    assert len({int(drawn.blocks.chain(row)[0]) for row in range(len(drawn))}) == 1  # one system prompt, as recorded
    assert "told from shared prefixes" in {assumption.value for assumption in drawn.assumptions}


def grown(turns: int, first: int = 100, added: int = 10, output: int = 20, largest: int = 10**6) -> Growing:
    lengths = (Fixed(float(turns)), Fixed(float(first)), Fixed(float(added)), Fixed(float(output)))
    return Growing(*lengths, Fixed(5.0), Pace(1.0, 0.1), largest)


def test_a_session_grows_by_answer_and_addition() -> None:
    # 100; + 20 + 10 = 130; 160; each turn 1 s + 20 x 0.1 s of answer and 5 s of thought after the one before
    turns = grown(3).draw(2, np.random.default_rng(0))
    assert turns.prompt_tokens.tolist() == [100, 130, 160, 100, 130, 160]
    assert turns.offset_s.tolist() == [0, 8, 16, 0, 8, 16]
    assert turns.think_s is not None
    assert np.isnan(turns.think_s).tolist() == [True, False, False] * 2


def test_a_session_ends_where_its_context_is_full() -> None:
    assert grown(9, largest=160).draw(1, np.random.default_rng(0)).prompt_tokens.tolist() == [100, 130]


def test_a_turn_shares_all_that_was_said_before_it() -> None:
    model = Model(grown(4), poisson(1.0), SOURCE, block_tokens=10)
    drawn = sample(model, 200, 0)
    assert drawn.blocks is not None
    assert drawn.session is not None
    rows = np.flatnonzero(drawn.session == np.bincount(drawn.session).argmax())
    for before, after in pairwise(rows):
        earlier, later = drawn.blocks.chain(int(before)), drawn.blocks.chain(int(after))
        assert later[: len(earlier)].tolist() == earlier.tolist()


def test_a_session_trace_comes_at_its_rate_from_the_start() -> None:
    model = Model(grown(10), poisson(0.5), SOURCE)  # 5 requests a second, sessions 72 s long
    drawn = sample(model, 5000, 0)
    assert drawn.arrival_s is not None
    assert drawn.arrival_s[0] >= 0
    first, last = (drawn.arrival_s < 100).sum(), (drawn.arrival_s > drawn.arrival_s[-1] - 100).sum()
    assert first == pytest.approx(500, rel=0.2)
    assert last == pytest.approx(500, rel=0.2)


def test_a_system_prompt_is_shared_by_its_share() -> None:
    work = Recorded(np.array([1000]), np.array([10]))
    model = Model(work, poisson(1.0), SOURCE, (SystemPrompt(320, 0.7), SystemPrompt(160, 0.2)))
    drawn = sample(model, 4000, 0)
    assert drawn.blocks is not None
    starts = drawn.blocks.ids[drawn.blocks.starts[:-1]]
    uses = np.sort(np.bincount(starts))[::-1]
    assert uses[:3] / 4000 == pytest.approx([0.7, 0.2, 1 / 4000], abs=0.03)
    measured = reuse(drawn.blocks, drawn.prompt_tokens)
    assert measured is not None
    assert measured.unlimited == pytest.approx(0.7 * 0.32 + 0.2 * 0.16, abs=0.01)


def test_a_closed_loop_waits_for_the_answer_and_the_thought() -> None:
    work = Recorded(np.array([100]), np.array([50]))
    model = Model(work, ClosedLoop(4, Fixed(10.0), Pace(1.0, 0.1)), SOURCE)  # 1 + 5 + 10 s a round
    drawn = sample(model, 40, 0)
    assert drawn.arrival_s is not None
    assert drawn.session is not None
    for user in range(4):
        assert np.diff(drawn.arrival_s[drawn.session == user]) == pytest.approx(16.0)
    assert drawn.think_s is not None
    assert np.nanmax(drawn.think_s) == 10


def test_sessions_whose_length_varies_are_cut_out_whole() -> None:
    turns = parse_lengths({"p50": 3, "p95": 12}, "turns")
    model = Model(
        Growing(
            turns, Fixed(100.0), Fixed(10.0), Fixed(20.0), parse_lengths({"p50": 20, "p95": 90}, "t"), Pace(), 10**6
        ),
        poisson(0.3),
        SOURCE,
    )
    drawn = sample(model, 3000, 0)
    assert len(drawn) == 3000
    assert drawn.requests_per_s == pytest.approx(0.3 * model.requests.mean_turns, rel=0.1)  # type: ignore[union-attr]


def test_drawn_sessions_keep_their_recorded_pace() -> None:
    trace = Trace(
        np.array([10, 20, 30]), np.array([1, 2, 3]), np.array([0.0, 4.0, 9.0]), SOURCE, session=np.array([0, 1, 0])
    )
    turns = Drawn.of(trace).draw(50, np.random.default_rng(0))
    for number in range(50):
        mine = turns.session == number
        assert turns.offset_s[mine].tolist() in ([0.0, 9.0], [0.0])
        assert turns.prompt_tokens[mine].tolist() in ([10, 30], [20])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"lengths": "pair"}, "Did you mean pairs"),
        ({"arrivals": "poison"}, "Did you mean poisson"),
        ({"arrivals": "closed"}, "how many users"),
        ({"system_prompts": (SystemPrompt(8),)}, "less is not shared"),
        ({"system_prompts": (SystemPrompt(99, 0.7), SystemPrompt(99, 0.7))}, "shares of 1 together"),
    ],
)
def test_a_choice_that_cannot_be_is_named(recorded: Trace, changes: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        model_of(recorded, Choice(**changes))  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_a_trace_without_times_needs_a_rate_and_takes_no_recorded_arrivals() -> None:
    bare = Trace(np.array([10, 20]), np.array([1, 2]), None, SOURCE)
    with pytest.raises(BadInput, match="rps"):
        model_of(bare, Choice())
    with pytest.raises(BadInput, match="without recorded times"):
        model_of(bare, Choice(arrivals="replay", rps=1.0))
    assert len(sample(model_of(bare, Choice(rps=1.0)), 10, 0)) == 10


def test_a_trace_without_outputs_needs_some() -> None:
    bare = Trace(np.array([10, 20]), np.array([0, 0]), np.array([0.0, 9.0]), SOURCE)
    with pytest.raises(BadInput, match="records none"):
        model_of(bare, Choice())
    drawn = sample(model_of(bare, Choice(output=Fixed(5.0))), 10, 0)
    assert set(drawn.output_tokens) == {5}
