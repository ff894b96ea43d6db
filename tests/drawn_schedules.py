"""Random scheduler cases: small replicas under pressure, with every feature on in some of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from bide.simulate.scheduler.config import CacheGroup, SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.outcome import Outcome, StepRecord
from bide.simulate.scheduler.reference.run import Run
from bide.simulate.scheduler.requests import Requests, chained_ids, only_shared
from bide.simulate.scheduler.simulate import simulate

OUTCOME_COLUMNS = ("first_scheduled_s", "first_token_s", "finish_s", "preemptions", "cached_tokens", "output_tokens")


@dataclass(frozen=True)
class Drawn:
    """A case, and what it is made of in words."""

    config: SchedulerConfig
    cost: StepCost
    requests: Requests
    aborts: tuple[tuple[float, int], ...] = ()
    """Seconds and request: clients that leave."""

    @property
    def words(self) -> str:
        kinds = "+".join(group.kind for group in self.config.groups)
        flags = (
            "async_scheduling",
            "enable_prefix_caching",
            "policy",
            "speculative_tokens",
            "release",
            "reserved_output_tokens",
            "prompts_alone",
        )
        return f"{kinds} " + " ".join(f"{flag}={getattr(self.config, flag)}" for flag in flags)


def draw(seed: int) -> Drawn:
    """The case of a seed."""
    die = random.Random(seed)
    config = _config(die)
    cost, requests = _cost(die, config), _requests(die, config)
    other = replace(
        config, reserved_output_tokens=die.choice([0, 0, 0, 20, 150]), prompts_alone=die.choice([False, False, True])
    )
    requests = _loaded(die, requests) if die.random() < 0.2 else requests
    return Drawn(other, cost, requests, _aborts(die, requests) if seed % 3 == 0 else ())


def _aborts(die: random.Random, requests: Requests) -> tuple[tuple[float, int], ...]:
    """Some clients leave sooner or later, some at once."""
    arrivals = requests.arrival_s.tolist()
    leaving = [request for request in range(len(requests)) if die.random() < 0.3]
    return tuple((arrivals[request] + die.choice([0.0, 0.01, die.expovariate(2.0)]), request) for request in leaving)


def _loaded(die: random.Random, requests: Requests) -> Requests:
    """Prompts that another engine has computed, whole or in part."""
    loaded = [die.choice([0, prompt, die.randint(0, prompt)]) for prompt in requests.prompt_tokens.tolist()]
    return replace(requests, loaded_tokens=np.array(loaded, dtype=np.int64))


def _config(die: random.Random) -> SchedulerConfig:
    max_model_len = die.choice([96, 192, 400])
    caching, drafts = die.random() < 0.6, die.choice([0, 0, 0, 1, 3])
    groups = _groups(die, die.choice([4, 16]), caching)
    seqs, budget = die.choice([1, 2, 5, 12, 40]), die.choice([8, 16, 33, 100, 500])
    chunked = die.random() < 0.8
    budget = max(budget, 1 + drafts, 0 if chunked else max_model_len)
    aligned = lcm(*(group.block_tokens for group in groups))
    config = SchedulerConfig(
        num_blocks=1 << 30,
        groups=groups,
        max_model_len=max_model_len,
        max_num_seqs=seqs,
        max_num_active_seqs=die.choice([None, None, max(1, seqs // 2)]),
        max_num_batched_tokens=budget,
        max_num_scheduled_tokens=die.choice([None, None, max(1 + drafts, budget // 2)]) if chunked else None,
        enable_chunked_prefill=chunked,
        enable_prefix_caching=caching,
        long_prefill_token_threshold=die.choice([0, 0, 10, 40]) if not drafts else 0,
        long_prefill_token_threshold_adaptive=die.random() < 0.4,
        policy=die.choice(["fcfs", "fcfs", "priority"]),
        watermark=die.choice([0.0, 0.0, 0.05, 0.2]),
        scheduler_reserve_full_isl=die.random() < 0.7,
        async_scheduling=die.random() < 0.5,
        speculative_tokens=drafts,
        draft_acceptance=die.choice([0.0, 0.5, 0.9, 1.0]),
        draft_holds_cache=die.random() < 0.6,
        prefix_retention_tokens=die.choice([0, 0, None, aligned, 2 * aligned]),
        release=die.choice(["0.32", "0.33"]),
        seed=die.randrange(100),
    )
    return _with_pool(die, config)


def _with_pool(die: random.Random, config: SchedulerConfig) -> SchedulerConfig:
    """A pool for one request of the longest kind, and often not for many more."""
    alone = config.blocks_for(config.max_model_len)
    return replace(config, num_blocks=alone + 2 + int(alone * die.choice([0.0, 0.1, 0.5, 1, 3, 10])))


def _groups(die: random.Random, block: int, caching: bool) -> tuple[CacheGroup, ...]:
    full, window = CacheGroup("full", block), CacheGroup("window", block, die.choice([9, 32, 50]))
    chunk, state = CacheGroup("chunk", block, die.choice([32, 64])), CacheGroup("state", block)
    wide = CacheGroup("full", 2 * block)
    choices: Sequence[tuple[CacheGroup, ...]] = (
        (full,),
        (full,),
        (full,),
        (full,),
        (full, full),
        (full, window),
        (full, window, window),
        (window,),
        (full, chunk),
        (full, state),
        (state, full, state),
        (wide, window),
        (full, window, state),
    )
    return die.choice(choices)


def _cost(die: random.Random, config: SchedulerConfig) -> StepCost:
    tokens = np.arange(config.token_budget + 1)
    windows = die.random() < 0.2
    return StepCost(
        np.maximum(4e-3, tokens * 1e-4),
        fixed_s=die.choice([0.0, 1e-3]),
        per_sequence_s=1e-5,
        per_kv_token_s=1e-7,
        per_area_s=1e-9,
        prefill_step_s=die.choice([0.0, 1e-3]),
        window_tokens=(32, 70) if windows else (),
        per_window_token_s=(2e-7, 1e-7) if windows else (),
        prompts_read_cache=die.random() < 0.5,
    )


def _requests(die: random.Random, config: SchedulerConfig) -> Requests:
    count, longest = die.choice([1, 6, 20, 60]), config.max_model_len
    gap_s = die.choice([0.0, 0.002, 0.01, 0.05])
    arrivals, prompts, outputs = [], [], []
    now_s = 0.0
    for _ in range(count):
        now_s += die.expovariate(1 / gap_s) if gap_s and die.random() < 0.8 else 0.0
        arrivals.append(now_s)
        lengths = [1, 3, 16, 32, 48, 60, die.randint(1, longest - 1)]
        prompts.append(min(die.choice(lengths), longest - 1))
        outputs.append(die.choice([1, 2, 8, 30, 90, 150]))
    return Requests.of(
        arrivals,
        prompts,
        outputs,
        priority=[die.randint(0, 2) for _ in arrivals],
        content=_content(die, prompts, outputs, config) if config.enable_prefix_caching else None,
    )


def _content(
    die: random.Random, prompts: Sequence[int], outputs: Sequence[int], config: SchedulerConfig
) -> tuple[np.ndarray, np.ndarray] | None:
    """Prompts that share beginnings, and in some cases outputs that equal what another prompt goes on with."""
    if die.random() < 0.2:
        return None
    size, with_outputs = config.hash_block_tokens, die.random() < 0.3
    blocks = []
    for request, (prompt, output) in enumerate(zip(prompts, outputs, strict=True)):
        root, shared = die.randint(0, 2), die.choice([0, 16, 48, 200])
        tokens: list[object] = [(root, n) for n in range(min(shared, prompt))]
        tokens += [(request, n) for n in range(len(tokens), prompt)]
        if with_outputs:
            same = shared >= prompt
            tokens += [(root, n) if same else (request, n) for n in range(prompt, prompt + output)]
        blocks.append([tuple(tokens[n : n + size]) for n in range(0, len(tokens) - size + 1, size)])
    return only_shared(*chained_ids(blocks))


@dataclass(frozen=True)
class Compared:
    """What the reference and the kernel made of a case."""

    reference: Outcome
    records: list[StepRecord]
    recorded: Outcome
    kernel: Outcome

    @property
    def difference(self) -> str | None:
        """The first thing in which they differ, to the bit; None where they agree."""
        for number, (want, got) in enumerate(zip(self.records, self.kernel_records, strict=False)):
            if want != got:
                return f"step {number}: {got} want {want}"
        if len(self.records) != len(self.kernel_records):
            return f"{len(self.kernel_records)} steps, want {len(self.records)}"
        for name, outcome in (("recorded", self.recorded), ("kernel", self.kernel)):
            for column in OUTCOME_COLUMNS:
                want, got = getattr(self.reference, column), getattr(outcome, column)
                if not np.array_equal(want, got, equal_nan=want.dtype.kind == "f"):
                    place = int(np.flatnonzero(~((want == got) | (np.isnan(want) & np.isnan(got))))[0])
                    return f"{name} {column}[{place}]: {got[place]!r} want {want[place]!r}"
            if outcome.steps != len(self.records):
                return f"{name}: {outcome.steps} steps, want {len(self.records)}"
        return None

    @property
    def kernel_records(self) -> list[StepRecord]:
        assert self.recorded.log is not None
        return list(self.recorded.log.records())


def compare(case: Drawn, sample_every_s: float | None = None) -> Compared:
    """Both engines on a case; the kernel once step by step and once as fast as it goes."""
    run = Run(case.config, case.cost, case.requests, case.aborts)
    reference = run.outcome()
    recorded = simulate(case.config, case.cost, case.requests, record_steps=True, aborts=case.aborts)
    fast = simulate(case.config, case.cost, case.requests, sample_every_s=sample_every_s, aborts=case.aborts)
    return Compared(reference, run.records, recorded, fast)
