"""Configs, costs and requests as the flat arrays that the kernel works on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from bide.simulate.scheduler.config import CacheGroup, SchedulerConfig
from bide.simulate.scheduler.cost import StepCost
from bide.simulate.scheduler.kernel import fields as at
from bide.simulate.scheduler.requests import Requests

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    SmallInts = NDArray[np.int32]
    Floats = NDArray[np.float64]

_KINDS = {"full": at.FULL, "window": at.WINDOW, "chunk": at.CHUNK, "state": at.STATE}
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """One replica. `rules`, `costs` and `ids` are only read; the rest is where the run stands."""

    rules: Ints
    costs: Floats
    ints: Ints
    blocks: SmallInts
    times: Floats
    ids: SmallInts

    @property
    def arrays(self) -> tuple[Ints, Floats, Ints, SmallInts, Floats, SmallInts]:
        """In the order in which the kernel takes them."""
        return self.rules, self.costs, self.ints, self.blocks, self.times, self.ids

    def column(self, field: int) -> Ints:
        """A field of every request, in order."""
        start = self.ints[at.AT_REQUESTS]
        end = start + self.ints[at.REQUESTS] * at.REQUEST_FIELDS
        return self.ints[start + field : end : at.REQUEST_FIELDS]

    def times_s(self, field: int) -> Floats:
        """A time of every request, in order."""
        return self.times[at.TIMES_HEAD + field :: at.TIME_FIELDS]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How much room the requests can ask for at once."""

    requests: int
    slots: int
    groups: int
    places: int
    """Of a block table, if blocks are tracked."""
    keys: int
    """Shared contents, each in every group."""
    longest_tokens: int
    most_outputs: int

    @classmethod
    def of(cls, config: SchedulerConfig, requests: Requests, tracks: int) -> _Sizes:
        count, groups = len(requests), len(config.groups)
        slots = max(1, min(config.max_running, count, config.num_blocks))
        outputs = min(int(requests.output_tokens.max(initial=1)), config.max_model_len)
        longest = min(int((requests.prompt_tokens + requests.output_tokens).max(initial=1)), config.max_model_len)
        if tracks == at.COUNTED:
            return cls(count, slots, groups, 0, 0, longest, outputs)
        smallest = min(group.block_tokens for group in config.groups)
        drafts = config.speculative_tokens
        overshoot = 2 * (1 + drafts) if drafts else 0  # of a step under way and the next, before drafts are refused
        places = -(-(longest + overshoot + config.lookahead_tokens) // smallest) + drafts + 1
        keys = (int(requests.content_ids.max(initial=-1)) + 1) * groups
        return cls(count, slots, groups, places, keys, longest, outputs)

    @property
    def slot_span(self) -> int:
        return at.SLOT_HEAD + self.groups * at.PART_FIELDS

    @property
    def batch_span(self) -> int:
        return at.BATCH_HEAD + self.slots * at.ENTRY_FIELDS


def new_memory(
    config: SchedulerConfig,
    cost: StepCost,
    requests: Requests,
    *,
    record_steps: bool = False,
    sample_every_s: float | None = None,
) -> Memory:
    """An empty replica before its first request. Raises ValueError where a number is too large for the kernel."""
    tracks = _tracks(config)
    sizes = _Sizes.of(config, requests, tracks)
    ints, blocks = _changing(config, sizes, tracks)
    _fill_requests(ints, config, requests)
    return Memory(
        _rules(config, cost, requests, record_steps),
        _costs(config, cost),
        ints,
        blocks,
        _times(requests, sample_every_s),
        _ids(config, requests),
    )


def _tracks(config: SchedulerConfig) -> int:
    """How blocks are kept."""
    if not config.enable_prefix_caching:
        return at.COUNTED
    return at.BY_RUN if len(config.groups) == 1 and config.groups[0].kind == "full" else at.BY_BLOCK


def _changing(config: SchedulerConfig, sizes: _Sizes, tracks: int) -> tuple[Ints, SmallInts]:
    """The arrays `ints` and `blocks`: their sections one after another, and their addresses in the head of `ints`."""
    import numpy as np

    in_ints = {
        at.AT_SPARE: sizes.slots,
        at.AT_QUEUE: (sizes.requests if config.policy == "priority" else sizes.slots) + 1,
        at.AT_PREEMPTED: sizes.slots,
        at.AT_HITS: sizes.groups,
        at.AT_PROMPTS: sizes.slots,
        at.AT_LEAVING: sizes.slots,
        at.AT_CLASSES: config.groups[0].block_tokens * at.CLASS_FIELDS,
        at.AT_DUE: sizes.most_outputs + 2,
        at.OLDEST: sizes.batch_span,
        at.NEWEST: sizes.batch_span,
        _AT_SLOTS: sizes.slots * sizes.slot_span,
        at.AT_REQUESTS: sizes.requests * at.REQUEST_FIELDS,
    }
    in_blocks = _block_sections(config, sizes, tracks)
    where, length = _addresses(in_ints, at.INTS_HEAD)
    where_blocks, blocks_length = _addresses(in_blocks, 0)
    if blocks_length > _LARGEST:
        raise ValueError("num_blocks, requests or shared content: too many for the kernel")
    ints, blocks = np.zeros(length, dtype=np.int64), np.zeros(blocks_length, dtype=np.int32)
    for field, address in (where | where_blocks).items():
        if field >= 0:
            ints[field] = address
    _fill_head(ints, config, sizes)
    _fill_slots(ints, sizes, where[_AT_SLOTS], where_blocks[_AT_TABLES])
    if tracks == at.BY_BLOCK:
        _fill_free_queue(blocks, config.num_blocks)
    elif tracks == at.BY_RUN:
        ends = ints[at.AT_STRETCHES]
        blocks[ends + at.STRETCH_NEXT] = blocks[ends + at.STRETCH_PREVIOUS] = ends
    return ints, blocks


def _block_sections(config: SchedulerConfig, sizes: _Sizes, tracks: int) -> dict[int, int]:
    """The sections of `blocks`. The first is never empty, so that no address of another is 0."""
    states = any(group.kind == "state" for group in config.groups)
    sections = {
        _AT_BLOCKS: (config.num_blocks if tracks == at.BY_BLOCK else 1) * at.BLOCK_FIELDS,
        at.AT_HIT: sizes.groups * sizes.places * at.PIECE_FIELDS,
        at.AT_OWN: sizes.groups * sizes.places,
        at.AT_HEADS: sizes.keys,
        at.AT_STAMPS: sizes.keys if states else 0,
        _AT_TABLES: sizes.slots * sizes.groups * sizes.places if tracks == at.BY_BLOCK else 0,
    }
    if tracks == at.BY_RUN:  # memory that is never touched costs nothing
        sections |= {
            at.AT_RUNS_END: (config.num_blocks + sizes.slots) * at.RUN_FIELDS,
            at.AT_STRETCHES: at.STRETCH_FIELDS,
            at.AT_STRETCHES_END: config.num_blocks * at.STRETCH_FIELDS,
            at.AT_COPIES_END: config.num_blocks * at.COPY_FIELDS,
            at.AT_HOLDS_END: sizes.slots * sizes.places * at.HOLD_FIELDS,
        }
    return sections


_AT_SLOTS, _AT_BLOCKS, _AT_TABLES = -1, -2, -3
"""Sections whose address the kernel need not know."""


def _addresses(lengths: dict[int, int], start: int) -> tuple[dict[int, int], int]:
    """Where each section starts, and where the last one ends."""
    where = {}
    for section, length in lengths.items():
        where[section] = start
        start += length
    return where, start


def _fill_head(ints: Ints, config: SchedulerConfig, sizes: _Sizes) -> None:
    ints[at.FREE] = ints[at.BLANK] = config.num_blocks - 1
    ints[at.PATIENCE_STEPS] = config.patience_steps(sizes.longest_tokens)
    ints[at.REQUESTS] = sizes.requests
    ints[at.SPARE_SLOTS] = ints[at.MOST_RUNNING] = sizes.slots
    ints[at.PLACES] = sizes.places
    ints[at.DUE_SPAN] = sizes.most_outputs + 2
    ints[ints[at.OLDEST] + at.END_AT] = at.FIRST_END_S
    ints[ints[at.NEWEST] + at.END_AT] = at.SECOND_END_S


def _fill_slots(ints: Ints, sizes: _Sizes, slots_at: int, tables_at: int) -> None:
    """All slots empty and spare, each with a block table for every group."""
    import numpy as np

    rows = ints[slots_at : slots_at + sizes.slots * sizes.slot_span].reshape(sizes.slots, sizes.slot_span)
    rows[:, at.REQUEST] = at.NOBODY
    parts = rows[:, at.SLOT_HEAD :].reshape(sizes.slots, sizes.groups, at.PART_FIELDS)
    parts[:, :, at.LAST_STATE] = -1
    tables = np.arange(sizes.slots * sizes.groups) * sizes.places + tables_at
    parts[:, :, at.TABLE] = tables.reshape(sizes.slots, sizes.groups)
    spare_at = ints[at.AT_SPARE]
    ints[spare_at : spare_at + sizes.slots] = slots_at + np.arange(sizes.slots)[::-1] * sizes.slot_span


def _fill_free_queue(blocks: SmallInts, num_blocks: int) -> None:
    """All blocks free, in order."""
    import numpy as np

    rows = blocks[: num_blocks * at.BLOCK_FIELDS].reshape(num_blocks, at.BLOCK_FIELDS)
    order = np.arange(num_blocks) * at.BLOCK_FIELDS
    rows[:, at.NEXT] = np.roll(order, -1)
    rows[:, at.PREVIOUS] = np.roll(order, 1)
    rows[:, at.KEY] = at.NOTHING


def _fill_requests(ints: Ints, config: SchedulerConfig, requests: Requests) -> None:
    """A row for each request, ended where the model's length ends it."""
    import numpy as np

    rows = ints[ints[at.AT_REQUESTS] :].reshape(len(requests), at.REQUEST_FIELDS)
    rows[:, at.ITS_PROMPT] = rows[:, at.KNOWN_SO_FAR] = requests.prompt_tokens
    rows[:, at.ITS_LIMIT] = np.minimum(requests.prompt_tokens + requests.output_tokens, config.max_model_len)
    rows[:, at.PRIORITY] = requests.priority
    rows[:, at.TIE_RANK] = requests.tie_rank
    rows[:, at.CONTENT_START] = requests.content_starts[:-1]
    rows[:, at.CONTENT_COUNT] = np.diff(requests.content_starts)
    rows[:, at.LOADED] = requests.loaded_tokens
    rows[:, at.SLOT] = rows[:, at.FINISH_STEP] = at.NOT_YET


def _times(requests: Requests, sample_every_s: float | None) -> Floats:
    import numpy as np

    times = np.full(at.TIMES_HEAD + len(requests) * at.TIME_FIELDS, np.nan)
    times[: at.TIMES_HEAD] = 0.0
    times[at.NEXT_SAMPLE_S] = 0.0 if sample_every_s else np.inf
    times[at.SAMPLE_EVERY_S] = sample_every_s or 0.0
    times[at.TIMES_HEAD + at.ARRIVAL_S :: at.TIME_FIELDS] = requests.arrival_s
    return times


def _ids(config: SchedulerConfig, requests: Requests) -> SmallInts:
    import numpy as np

    ids = requests.content_ids if config.enable_prefix_caching else requests.content_ids[:0]
    if len(ids) and (int(ids.max()) + 1) * len(config.groups) > _LARGEST:
        raise ValueError(f"content_ids: fewer than {_LARGEST // len(config.groups)}")
    return ids.astype(np.int32)


def _costs(config: SchedulerConfig, cost: StepCost) -> Floats:
    import numpy as np

    if len(cost.linear_s) <= config.token_budget:
        raise ValueError(f"linear_s: a time for every number of tokens up to {config.token_budget}")
    head = np.zeros(at.COSTS_HEAD)
    head[at.FIXED_S] = cost.fixed_s
    head[at.PER_SEQUENCE_S] = cost.per_sequence_s
    head[at.PER_KV_TOKEN_S] = cost.per_kv_token_s
    head[at.PER_AREA_S] = cost.per_area_s
    head[at.PREFILL_STEP_S] = cost.prefill_step_s
    head[at.DRAFT_ACCEPTANCE] = config.draft_acceptance
    return np.concatenate((head, cost.per_window_token_s, cost.linear_s))


def _rules(config: SchedulerConfig, cost: StepCost, requests: Requests, record_steps: bool) -> Ints:
    """The config: its head, then a row for each group and each kind of group, then the cost's windows."""
    import numpy as np

    groups = [_group_row(config, group) for group in config.groups]
    kinds = _kind_rows(config)
    sections = {
        at.AT_GROUPS: len(groups) * at.GROUP_FIELDS,
        at.AT_KINDS: sum(map(len, kinds)),
        at.AT_WINDOWS: len(cost.window_tokens),
    }
    where, _ = _addresses(sections, at.RULES_HEAD)
    values = _knobs(config, requests) | where
    values[at.MAY_CRUISE] = _may_cruise(config, cost) and not record_steps
    values |= {
        at.TRACKS_BLOCKS: _tracks(config),
        at.RECORDS_STEPS: record_steps,
        at.PROMPTS_READ_CACHE: cost.prompts_read_cache,
        at.GROUPS: len(groups),
        at.KINDS: len(kinds),
        at.KIND_SPAN: len(kinds[0]),
        at.WINDOWS: len(cost.window_tokens),
    }
    head = [values[knob] for knob in range(at.RULES_HEAD)]
    return np.array([*head, *chain(*groups, *kinds), *cost.window_tokens], dtype=np.int64)


def _may_cruise(config: SchedulerConfig, cost: StepCost) -> bool:
    """Whether all that decodes needs the same blocks at the same places, and steps cost by the sum of its tokens."""
    alike = len(set(config.groups)) == 1 and config.groups[0].kind == "full"
    return alike and _tracks(config) != at.BY_BLOCK and not config.speculative_tokens and not cost.window_tokens


def _knobs(config: SchedulerConfig, requests: Requests) -> dict[int, int]:
    retention = config.prefix_retention_tokens
    has_states = any(group.kind == "state" for group in config.groups)
    return {
        at.MAX_MODEL_LEN: config.max_model_len,
        at.MAX_RUNNING: config.max_running,
        at.BATCHED_TOKENS: config.max_num_batched_tokens,
        at.TOKEN_BUDGET: config.token_budget,
        at.CHUNKED_PREFILL: config.enable_chunked_prefill,
        at.CACHING: config.enable_prefix_caching,
        at.THRESHOLD: config.long_prefill_token_threshold,
        at.ADAPTIVE: config.long_prefill_token_threshold_adaptive,
        at.BY_PRIORITY: config.policy == "priority",
        at.WATERMARK_BLOCKS: config.watermark_blocks,
        at.RESERVED_OUTPUT: config.reserved_output_tokens,
        at.USABLE: config.num_blocks - 1,
        at.PROMPTS_ALONE: config.prompts_alone,
        at.RESERVE_WHOLE: config.scheduler_reserve_full_isl,
        at.ASYNC: config.async_scheduling,
        at.DRAFTS_EACH: config.speculative_tokens,
        at.LOOKAHEAD: config.lookahead_tokens,
        at.RETENTION: -1 if retention is None else retention,
        at.ALIGNED: config.aligned_block_tokens,
        at.OLD_RELEASE: config.release == "0.32",
        at.SEED: config.seed,
        at.ALIGNS_STATES: config.enable_prefix_caching and has_states,
        at.ONLY_FULL: all(group.kind == "full" for group in config.groups),
        at.SHARES_OUTPUTS: _lists_outputs(config, requests),
    }


def _lists_outputs(config: SchedulerConfig, requests: Requests) -> bool:
    """Whether some request names content beyond its prompt."""
    import numpy as np

    listed = np.diff(requests.content_starts) * config.hash_block_tokens
    return config.enable_prefix_caching and bool((listed > requests.prompt_tokens).any())


def _group_row(config: SchedulerConfig, group: CacheGroup) -> list[int]:
    cap = config.admission_cap(group)
    row = {
        at.KIND: _KINDS[group.kind],
        at.BLOCK_TOKENS: group.block_tokens,
        at.REACH: group.reach_tokens,
        at.CAP: at.NO_CAP if cap is None else cap,
        at.IDS_PER_BLOCK: max(1, group.block_tokens // config.hash_block_tokens),
        at.HIT_BLOCKS: -(-(group.reach_tokens - 1) // group.block_tokens) if group.kind == "window" else 1,
    }
    return [row[field] for field in range(at.GROUP_FIELDS)]


def _kind_rows(config: SchedulerConfig) -> list[list[int]]:
    """The numbers of equal groups together, after how many they are; full attention first."""
    kinds = sorted(dict.fromkeys(config.groups), key=lambda group: group.kind != "full")
    members = [[number for number, group in enumerate(config.groups) if group == kind] for kind in kinds]
    return [[len(row), *row, *[0] * (len(config.groups) - len(row))] for row in members]
