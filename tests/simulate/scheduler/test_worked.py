"""One rule each, worked by hand. Blocks hold 4 tokens and every step takes a second, unless said otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from bide.simulate.scheduler.replay import Engine, replay

_CONFIG = {
    "num_blocks": 64,
    "max_model_len": 64,
    "max_num_seqs": 8,
    "max_num_active_seqs": None,
    "max_num_batched_tokens": 64,
    "max_num_scheduled_tokens": None,
    "enable_chunked_prefill": True,
    "enable_prefix_caching": False,
    "block_size": 4,
    "long_prefill_token_threshold": 0,
    "long_prefill_token_threshold_adaptive": False,
    "policy": "fcfs",
    "watermark": 0.0,
    "scheduler_reserve_full_isl": True,
    "async_scheduling": False,
    "groups": None,
    "a": 1.0,
    "b": 0.0,
    "c": 0.0,
    "d": 0.0,
}

Played = dict[str, Any]


@pytest.fixture(params=["reference", "kernel"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return request.param  # type: ignore[no-any-return]


def _request(name: str, prompt: int, output: int, arrival: float = 0.0, priority: int = 0, prefix: int = 0) -> Played:
    return {
        "id": name,
        "arrival": arrival,
        "prompt_len": prompt,
        "output_len": output,
        "priority": priority,
        "prefix_id": 0,
        "prefix_len": prefix,
    }


def _play(engine: Engine, requests: list[Played], **config: object) -> Played:
    return replay({"config": _CONFIG | config, "requests": requests}, engine=engine)


def _column(played: Played, name: str) -> list[Any]:
    return [step[name] for step in played["steps"]]


def test_the_last_request_is_pushed_out_and_computes_everything_again(engine: Engine) -> None:
    # 5 blocks. Step 0: A takes 2 (7 tokens), B 2 (8 tokens). Step 1: A's 8th token fits, B's 9th takes the last block.
    # Step 2: A's 9th token needs a block: B, the last, gives up 3, A takes 1. Nobody is admitted in such a step.
    # Steps 3 to 5: B's 8 + 2 tokens need 3 blocks, 2 are free, until A has its 6 tokens.
    # Step 6: B computes all 10 again, which brings its third token; step 7 brings the fourth and last.
    played = _play(engine, [_request("A", 7, 6), _request("B", 8, 4)], num_blocks=6)
    assert _column(played, "sched") == [
        [["A", 7], ["B", 8]],
        [["A", 1], ["B", 1]],
        [["A", 1]],
        [["A", 1]],
        [["A", 1]],
        [["A", 1]],
        [["B", 10]],
        [["B", 1]],
    ]
    assert _column(played, "preempted") == [[], [], ["B"], [], [], [], [], []]
    assert _column(played, "free_blocks") == [1, 0, 2, 2, 2, 2, 2, 2]
    assert [result["finish"] for result in played["results"]] == [6.0, 8.0]
    assert [result["preemptions"] for result in played["results"]] == [0, 1]


def test_a_hit_is_made_of_full_blocks_and_leaves_the_last_token_to_compute(engine: Engine) -> None:
    # A leaves 10 // 4 = 2 full blocks behind. B has the same 10 tokens: 8 are cached, 2 are computed.
    # C has the first 8 of them. Both blocks are there, but its last token must be computed, and with it its block:
    # (8 - 1) // 4 = 1 block, 4 tokens to compute.
    shared = [
        _request("A", 10, 1, prefix=10),
        _request("B", 10, 1, arrival=1.0, prefix=10),
        _request("C", 8, 1, arrival=1.0, prefix=8),
    ]
    played = _play(engine, shared, enable_prefix_caching=True)
    assert _column(played, "sched") == [[["A", 10]], [["B", 2], ["C", 4]]]
    assert _column(played, "hits") == [{}, {"B": 8, "C": 4}]


def test_a_prompt_is_cut_where_the_budget_ends(engine: Engine) -> None:
    # 8 tokens a step. Step 0: 8 of A's 10. Step 1: A's other 2, and all of B's 6 in the 6 that are left.
    played = _play(engine, [_request("A", 10, 2), _request("B", 6, 1)], max_num_batched_tokens=8)
    assert _column(played, "sched") == [[["A", 8]], [["A", 2], ["B", 6]], [["A", 1]]]
    # The first token comes with the step that ends the prompt.
    assert [result["first_token"] for result in played["results"]] == [2.0, 2.0]


def test_a_long_prompt_gets_little_at_a_time_beside_others_and_all_alone(engine: Engine) -> None:
    # A threshold of 4: A's 10 tokens take three steps while B is there. C is alone.
    requests = [_request("A", 10, 1), _request("B", 3, 3), _request("C", 10, 1, arrival=9.0)]
    played = _play(engine, requests, long_prefill_token_threshold=4)
    assert _column(played, "sched") == [
        [["A", 4], ["B", 3]],
        [["A", 4], ["B", 1]],
        [["A", 2], ["B", 1]],
        [["C", 10]],
    ]


def test_a_window_frees_the_blocks_that_it_has_passed(engine: Engine) -> None:
    # Blocks of 2 tokens, a window of 4, 10 blocks. A step that computes the token after n reads the last 3 of them
    # and itself: blocks wholly among the first n - 3 tokens are freed before it takes its own.
    #   n   freed so far    table     held    free
    #   0   0               3         3       7      the prompt of 6
    #   6   3 // 2 = 1      4         3       7
    #   7   4 // 2 = 2      4         2       8
    #   8   5 // 2 = 2      5         3       7
    #   9   6 // 2 = 3      5         2       8
    played = _play(
        engine,
        [_request("A", 6, 5)],
        num_blocks=11,
        block_size=2,
        max_num_batched_tokens=8,
        groups=[{"type": "swa", "window": 4}],
    )
    assert _column(played, "free_blocks") == [7, 7, 8, 7, 8]


def test_by_priority_the_least_urgent_is_pushed_out_and_its_tokens_go_back(engine: Engine) -> None:
    # 5 blocks. A (priority 2) runs when B (priority 1) comes. Step 2: A's 9th token takes the last block; B's 9th finds
    # none. Not B, the last, but A leaves, and its token of this very step is taken back. A has 7 + 2 tokens, which
    # need 3 blocks: it waits for B's last token (step 4).
    requests = [_request("A", 7, 4, priority=2), _request("B", 8, 4, arrival=1.0, priority=1)]
    played = _play(engine, requests, num_blocks=6, policy="priority")
    assert _column(played, "sched") == [
        [["A", 7]],
        [["A", 1], ["B", 8]],
        [["B", 1]],
        [["B", 1]],
        [["B", 1]],
        [["A", 9]],
        [["A", 1]],
    ]
    assert _column(played, "preempted") == [[], [], ["A"], [], [], [], []]


@pytest.mark.parametrize(("whole", "second_step"), [(True, [["A", 1]]), (False, [["A", 1], ["B", 7]])])
def test_a_prompt_waits_for_room_for_all_of_it(engine: Engine, whole: bool, second_step: list[list[object]]) -> None:
    # 5 blocks, 8 tokens a step. After A's 9 tokens (3 blocks) 2 are free. B's 16 tokens need 4, so it waits;
    # where only the first chunk has to fit, its 8 - 1 = 7 tokens (2 blocks) do.
    requests = [_request("A", 8, 3), _request("B", 16, 1)]
    played = _play(engine, requests, num_blocks=6, max_num_batched_tokens=8, scheduler_reserve_full_isl=whole)
    assert played["steps"][1]["sched"] == second_step


def test_the_watermark_is_kept_free_beside_others(engine: Engine) -> None:
    # 11 blocks with the null block: int(0.3 x 11) = 3. A takes 4 of 10 without regard to it, because nobody runs.
    # B's 4 and the 3 are more than the 6 that are left. Once A is gone, B is alone, too.
    played = _play(engine, [_request("A", 16, 2), _request("B", 14, 1)], num_blocks=11, watermark=0.3)
    assert _column(played, "sched") == [[["A", 16]], [["A", 1]], [["B", 14]]]


def test_steps_are_planned_while_the_one_before_runs(engine: Engine) -> None:
    # At 0 s two steps are planned: A's prompt (0 to 1 s), and its next token (1 to 2 s), whose input is still unknown.
    # That is A's last, so the plan at 1 s leaves it out; B, who came at 0.5 s, runs from 2 to 3 s.
    # A holds ceil(5 / 4) = 2 of 63 blocks until its last step is done, so beside B's one 60 are free.
    requests = [_request("A", 4, 2), _request("B", 4, 1, arrival=0.5)]
    played = _play(engine, requests, async_scheduling=True)
    assert _column(played, "sched") == [[["A", 4]], [["A", 1]], [["B", 4]]]
    assert _column(played, "t") == [0.0, 0.0, 1.0]
    assert _column(played, "t_end") == [1.0, 2.0, 3.0]
    assert _column(played, "free_blocks") == [62, 61, 60]
    assert [(result["first_token"], result["finish"]) for result in played["results"]] == [(1.0, 2.0), (3.0, 3.0)]
