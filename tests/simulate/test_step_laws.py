"""Laws that step times keep for every model of the catalogue on every GPU of it, whatever was calibrated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from bide.calibrate.terms import terms
from bide.errors import BadInput, CannotBeMet
from bide.facts.deployment import Deployment
from bide.facts.gpus import all_gpus
from bide.facts.models import catalogue
from bide.physics.profile import Profile, load_profile
from bide.physics.reached import Reached
from bide.physics.steptime import Amounts, StepTable, chosen_share, roofline
from bide.physics.stepwork import kv_read, step_amounts
from bide.simulate.cases import Case, case_of, mix_columns, replicas, stacked_amounts, stacked_reached
from bide.simulate.loops import Replicas, States, batch_run, closed_loop, open_loop
from bide.simulate.operating import Mix

Floats = NDArray[np.float64]

MIXES = (Mix(1000, 500), Mix(8000, 300), Mix(100, 10), Mix(30_000, 30), Mix(300, 1500), Mix(10, 20), Mix(1000, 1))
WITHOUT_PEAK = {"m3-ultra", "m4-max"}
"""Apple publishes no peak for its GPUs' matrix products."""
ROUNDING = 1e-9
TIMES = ("ttft_s", "tpot_s", "e2e_s", "decode_s")


@lru_cache(maxsize=1)
def served() -> tuple[list[Case], dict[tuple[str, str], str]]:
    """Every pair of model and GPU, on one GPU where it fits and else on eight; and why the others are not there."""
    cases: list[Case] = []
    missing: dict[tuple[str, str], str] = {}
    for model in catalogue():
        for gpu in all_gpus():
            found = _case(model.id, gpu.id)
            if isinstance(found, Case):
                cases.append(found)
            else:
                missing[model.id, gpu.id] = found
    return cases, missing


def _case(model: str, gpu: str) -> Case | str:
    why = ""
    for tp in (1, 8):
        try:
            return case_of(Deployment.resolve({"model": model, "gpu": gpu, "tp": tp}), True)
        except CannotBeMet as error:
            why = str(error)
        except BadInput as error:
            assert (error.field, tp) == ("tp", 8)
            why += f" (and {error})"
    return why


@lru_cache(maxsize=1)
def amounts() -> Amounts:
    return stacked_amounts(served()[0])


def start_profile() -> Profile:
    """Where fitting starts: far from what is shipped, so that the laws do not rest on the shipped numbers."""
    return replace(load_profile(), terms={term.name: term.start for term in terms()})


@lru_cache(maxsize=2)
def reached_of(profile: str) -> Reached:
    return stacked_reached(load_profile() if profile == "shipped" else start_profile(), served()[0])


def table_of(profile: str, separate: bool = False) -> StepTable:
    """`separate`: as engines before chunked prefill."""
    table = roofline(amounts(), reached_of(profile))
    return replace(table, separate_prefill=np.full(len(served()[0]), float(separate)))


@lru_cache(maxsize=len(MIXES))
def columns(mix: Mix) -> Mapping[str, Floats]:
    cases = served()[0]
    return mix_columns(cases, [mix] * len(cases))


def stack(mix: Mix, table: StepTable, profile: str = "shipped") -> Replicas:
    return replicas(columns(mix), table, reached_of(profile), np.arange(len(served()[0])))


def never_less(less: Floats, more: Floats) -> None:
    """No row of `more` is below that of `less`."""
    short = less - more > ROUNDING * np.abs(less)
    assert not short.any(), [(served()[0][i].deployment, less[i], more[i]) for i in np.flatnonzero(short)[:3]]


def loads(slots: Floats) -> Iterator[Floats]:
    """From one client to full, and to three times as many."""
    for power in np.linspace(0, 1, 24):
        yield np.maximum(slots, 1.0) ** power
    yield 1.5 * np.maximum(slots, 1.0)
    yield 3 * np.maximum(slots, 1.0)


def times_never_fall(states: list[States], names: tuple[str, ...] = TIMES) -> None:
    for lighter, heavier in pairwise(states):
        for name in names:
            never_less(getattr(lighter, name), getattr(heavier, name))


def test_every_pair_is_served_or_says_why_not() -> None:
    cases, missing = served()
    models, gpus = len(catalogue()), len(all_gpus())
    assert len(cases) + len(missing) == models * gpus
    by_model, by_gpu = Counter(model for model, _gpu in missing), Counter(gpu for _model, gpu in missing)
    assert all(
        by_gpu[gpu] == models and "no dense 16-bit peak" in missing["Qwen/Qwen3-8B", gpu] for gpu in WITHOUT_PEAK
    )
    # What is left out besides are large models on small cards: each model has a card, and most have most.
    assert len(cases) > 0.8 * models * gpus
    assert max(by_model.values()) < gpus
    others = [gpu.id for gpu in all_gpus() if gpu.id not in WITHOUT_PEAK]
    assert all(by_gpu[gpu] < 0.4 * models for gpu in others)
    largest = max((gpu for gpu in all_gpus() if gpu.id not in WITHOUT_PEAK), key=lambda gpu: gpu.usable_bytes)
    assert by_gpu[largest.id] <= 2


@pytest.mark.parametrize("profile", ["shipped", "start"])
def test_a_bigger_batch_never_makes_a_step_faster(profile: str) -> None:
    table = table_of(profile)
    assert (np.diff(table.linear_s, axis=1) >= 0).all()
    steps = [table.decode_s(np.full(len(table.linear_s), count), 1e8) for count in np.geomspace(1, 5000, 40)]
    for smaller, larger in pairwise(steps):
        never_less(smaller, larger)


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("profile", ["shipped", "start"])
@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_more_clients_are_never_served_faster_and_never_bring_less(mix: Mix, profile: str, separate: bool) -> None:
    rows = stack(mix, table_of(profile, separate), profile)
    states = [closed_loop(rows, clients) for clients in loads(rows.slots)]
    times_never_fall(states)
    for fewer, more in pairwise(states):
        never_less(fewer.requests_per_s, more.requests_per_s)


@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_a_higher_rate_is_never_served_faster(mix: Mix) -> None:
    rows = stack(mix, table_of("shipped"))
    highest = rows.highest_rate
    times_never_fall([open_loop(rows, highest * share) for share in (0.001, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99)])


@pytest.mark.parametrize("mix", MIXES, ids=str)
def test_more_requests_at_once_take_no_less(mix: Mix) -> None:
    rows = stack(mix, table_of("shipped"))
    states = [batch_run(rows, count) for count in loads(rows.slots)]
    times_never_fall(states, ("ttft_s", "e2e_s", "tpot_s"))
    runs_s = [(state.running + state.waiting) / state.requests_per_s for state in states]
    for fewer_s, more_s in pairwise(runs_s):
        never_less(fewer_s, more_s)


BETTER = {
    "bandwidth": ("bandwidth_bytes_per_s",),
    "FLOPS": ("peak_16bit", "peak_8bit", "peak_4bit"),
    "link": ("link_bytes_per_s",),
}


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("what", BETTER)
def test_better_hardware_is_never_slower(what: str, separate: bool) -> None:
    """Among clients TTFT may grow: whose answers come sooner ask again sooner, and more prompts are in the way."""
    found, table = amounts(), table_of("shipped", separate)
    faster = replace(found, **{name: 1.5 * getattr(found, name) for name in BETTER[what]})
    better = replace(roofline(faster, reached_of("shipped")), separate_prefill=table.separate_prefill)
    assert (better.linear_s <= table.linear_s * (1 + ROUNDING)).all()
    for mix in MIXES:
        now, then = stack(mix, table), stack(mix, better)
        for power in (0.0, 0.5, 1.0):
            clients = np.maximum(now.slots, 1.0) ** power
            slow, fast = closed_loop(now, clients), closed_loop(then, clients)
            never_less(slow.requests_per_s, fast.requests_per_s)
            for name in ("tpot_s", "e2e_s", "decode_s") if power else TIMES:
                never_less(getattr(fast, name), getattr(slow, name))


@pytest.mark.parametrize("profile", ["shipped", "start"])
@pytest.mark.parametrize("count", [1, 3, 7.5, 90, 1000])
def test_no_step_is_faster_than_the_hardware(profile: str, count: float) -> None:
    found, table, mix = amounts(), table_of(profile), MIXES[0]
    kv_bytes, batch = columns(mix)["kv_bytes"], np.full(len(served()[0]), count)
    step_s = table.decode_s(batch, kv_bytes)
    read_bytes = drawn_bytes(found, batch, profile) + batch * kv_bytes
    never_less(read_bytes / found.bandwidth_bytes_per_s, step_s)
    never_less(batch * (computing_s(found) + found.head_flops / found.peak_16bit), step_s)
    # A prompt of its own is bound in the same way, its attention by the 16-bit peak.
    prompt_s = table.linear(100 * batch)
    never_less(drawn_bytes(found, 100 * batch, profile) / found.bandwidth_bytes_per_s, prompt_s)
    never_less(100 * batch * computing_s(found), prompt_s)
    never_less(np.asarray(found.pair_flops / found.peak_16bit), np.asarray(table.per_area_s))


def drawn_bytes(found: Amounts, tokens: Floats, profile: str) -> Floats:
    """Weights that a step of so many tokens reads: of the experts those that its choices, which are alike, fall on."""
    chosen = chosen_share(found.expert_share, (tokens * found.expert_groups) ** reached_of(profile).draws)
    return np.asarray(found.dense_bytes + found.expert_bytes * chosen)


def computing_s(found: Amounts) -> Floats:
    """Of one token at the peaks, the type of each part being what it is multiplied in."""
    return np.asarray(
        found.flops_16bit / found.peak_16bit + found.flops_8bit / found.peak_8bit + found.flops_4bit / found.peak_4bit
    )


@pytest.mark.parametrize("number", range(len(catalogue())), ids=lambda number: catalogue()[number].id)
def test_tensor_parallelism_never_reads_more_on_a_rank(number: int) -> None:
    """What is replicated (KV heads beyond their number, latents, norms, routers) is read by each rank: no less."""
    every = [_read_bytes(catalogue()[number].id, tp) for tp in (1, 2, 4, 8)]
    (_one, whole), *_ = shared = [(tp, read) for tp, read in every if read]
    for (_fewer, more_bytes), (tp, fewer_bytes) in pairwise(shared):
        for wide, narrow, total in zip(more_bytes, fewer_bytes, whole, strict=True):
            assert narrow <= wide * (1 + ROUNDING)
            assert narrow * tp >= total * (1 - ROUNDING)


def _read_bytes(model: str, tp: int) -> tuple[int, tuple[float, ...]]:
    """Weights and a request's cache that a rank reads in a step; nothing where the model has no such parts."""
    try:
        deployment = Deployment.resolve({"model": model, "gpu": "h200-sxm", "tp": tp})
    except BadInput as error:
        assert error.field == "tp"
        return tp, ()
    found = step_amounts(deployment)
    weights = (found.dense_bytes, float(found.weight_bytes(1.0)), float(found.weight_bytes(64.0)))
    return tp, (*weights, kv_read(deployment).mean_bytes(4000, 1000))


@pytest.mark.parametrize("gpu", ["l4", "a100-80g-sxm", "h100-sxm", "b200-sxm", "rtx-5090", "mi300x", "tpu-v6e"])
def test_an_fp8_cache_is_never_slower_to_read(gpu: str) -> None:
    pairs = [pair for model in catalogue() if (pair := _with_fp8(model.id, gpu))]
    assert len(pairs) > 0.4 * len(catalogue())
    halves = [[pair[n] for pair in pairs] for n in (0, 1)]
    tables = [roofline(stacked_amounts(half), stacked_reached(load_profile(), half)) for half in halves]
    kv_bytes = [np.array([case.read.mean_bytes(4000, 1000) for case in half]) for half in halves]
    assert (kv_bytes[1] <= kv_bytes[0]).all()
    assert (kv_bytes[1] < 0.6 * kv_bytes[0]).any()
    for count in (1, 30, 1000):
        own, fp8 = (table.decode_s(np.full(len(pairs), count), kv) for table, kv in zip(tables, kv_bytes, strict=True))
        never_less(fp8, own)


def _with_fp8(model: str, gpu: str) -> tuple[Case, Case] | None:
    raw = {"model": model, "gpu": gpu, "tp": 8}
    try:
        return case_of(Deployment.resolve(raw), True), case_of(Deployment.resolve({**raw, "kv_dtype": "fp8"}), True)
    except (BadInput, CannotBeMet):
        return None


def test_what_prompts_add_may_fall_with_the_batch_but_no_cycle_does() -> None:
    """Experts that decodes have read are there for a prompt's chunk too: what it adds falls, what a step takes not."""
    mix = Mix(100, 100)
    rows = stack(mix, table_of("shipped"))
    falls = np.zeros(len(rows.slots), dtype=bool)
    before = None
    for clients in loads(rows.slots):
        pace = rows.pace(np.minimum(clients, rows.places))
        if before is not None:
            falls |= clients * pace.prompt_s < before[0] * (1 - ROUNDING)
            never_less(before[1], pace.cycle_s(np.minimum(clients, rows.places)))
        before = clients * pace.prompt_s, pace.cycle_s(np.minimum(clients, rows.places))
    moe = np.array([case.deployment.model.moe is not None for case in served()[0]])
    assert not falls[~moe].any()
    assert falls[moe].any()
