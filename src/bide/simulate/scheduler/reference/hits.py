"""The longest cached prefix that a request can start from, group by group and then for all together.

As read in vLLM 0.32's find_longest_cache_hit: v1/core/single_type_kv_cache_manager.py for one kind
of group, HybridKVCacheCoordinator in v1/core/kv_cache_coordinator.py for several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bide.simulate.scheduler.config import CacheGroup
from bide.simulate.scheduler.reference.live import Live
from bide.simulate.scheduler.reference.pool import NULL, Block, BlockPool
from bide.simulate.scheduler.reference.tables import BlockTable, WindowTable

Row = tuple[Block, ...]
"""The cached blocks of one place, one for each table of a kind."""
Lookup = Callable[[int], Row | None]
"""The row of a place, or None unless all of its blocks are cached."""


@dataclass(frozen=True, slots=True)
class Hit:
    """`tokens` cached tokens and the blocks that hold them, one list for each group.

    `junction`: how far the longest hit of a single kind goes, where that is beyond `tokens`; else 0.
    """

    tokens: int
    blocks: tuple[Sequence[Block], ...]
    junction: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """Tables with the same rules, which are looked up together."""

    group: CacheGroup
    tables: tuple[BlockTable, ...]


def kinds_of(tables: Sequence[BlockTable]) -> list[Kind]:
    """Tables of equal groups together, full attention first."""
    groups = dict.fromkeys(table.group for table in tables)
    kinds = [Kind(group, tuple(t for t in tables if t.group == group)) for group in groups]
    return sorted(kinds, key=lambda kind: kind.group.kind != "full")


def longest_hit(
    request: Live, tables: Sequence[BlockTable], kinds: Sequence[Kind], pool: BlockPool, aligned: int
) -> Hit:
    """The longest prefix that every group has cached, short of the last known token, which gives the next one.

    Each kind shortens the candidate or leaves it; any change starts another round, except that one
    round does for full attention and one other kind.
    """
    candidate, longest = request.known - 1, 0
    found: dict[int, list[Block]] = {}
    full_tokens: dict[CacheGroup, int] = {}
    while True:
        length = candidate
        for kind in kinds:
            if kind.group in full_tokens:
                length = min(length, full_tokens[kind.group])
                continue
            rows, length = _FINDERS[kind.group.kind](_lookup(request, kind, pool), length, kind, aligned)
            if kind.group.kind == "full":
                full_tokens[kind.group] = length
            found.update((table.number, [row[n] for row in rows]) for n, table in enumerate(kind.tables))
            longest = max(longest, length)
        unchanged, candidate = length >= candidate, length
        if unchanged or (len(kinds) == 2 and kinds[0].group.kind == "full"):
            break
    for kind in kinds:
        if kind.group.kind == "full":
            for table in kind.tables:
                del found[table.number][candidate // table.block_tokens :]
    blocks = tuple(found[table.number] for table in tables)
    return Hit(candidate, blocks, longest if longest > candidate and len(tables) > 1 else 0)


def _lookup(request: Live, kind: Kind, pool: BlockPool) -> Lookup:
    def row(place: int) -> Row | None:
        blocks = [pool.find((table.number, table.content(request, place))) for table in kind.tables]
        whole = tuple(block for block in blocks if block is not None)
        return whole if len(whole) == len(blocks) else None

    return row


def _nulls(kind: Kind, count: int) -> list[Row]:
    return [(NULL,) * len(kind.tables)] * count


def _from_the_start(lookup: Lookup, most_tokens: int, kind: Kind, aligned: int) -> tuple[list[Row], int]:
    """Full attention: every block from the first on."""
    size = kind.group.block_tokens
    rows = _run(lookup, range(most_tokens // size))
    tokens = len(rows) * size // aligned * aligned
    return rows[: tokens // size], tokens


def _run(lookup: Lookup, places: range) -> list[Row]:
    """Rows up to the first that is missing."""
    rows: list[Row] = []
    for place in places:
        row = lookup(place)
        if row is None:
            break
        rows.append(row)
    return rows


def _window(lookup: Lookup, most_tokens: int, kind: Kind, aligned: int) -> tuple[list[Row], int]:
    """The last run of blocks that fills the window, or a shorter one at the very start."""
    size = kind.group.block_tokens
    table = kind.tables[0]
    assert isinstance(table, WindowTable)
    rows = _nulls(kind, most_tokens // size)
    run = 0
    for place in range(len(rows) - 1, -1, -1):
        row = lookup(place)
        if row is None:
            run = 0
            continue
        if not run and (place + 1) * size % aligned:
            continue
        rows[place] = row
        run += 1
        if run >= table.blocks_for_hit:
            return rows[: place + run], (place + run) * size
    tokens = run * size // aligned * aligned
    return rows[: tokens // size], tokens


def _chunk(lookup: Lookup, most_tokens: int, kind: Kind, aligned: int) -> tuple[list[Row], int]:
    """Blocks of the chunk that the next token is in; those before it are not needed."""
    size, reach = kind.group.block_tokens, kind.group.reach_tokens
    start = most_tokens // reach * reach // size
    rows = _nulls(kind, start) + _run(lookup, range(start, most_tokens // size))
    return rows, len(rows) * size


def _state(lookup: Lookup, most_tokens: int, kind: Kind, aligned: int) -> tuple[list[Row], int]:
    """The last state that is cached."""
    size = kind.group.block_tokens
    for place in range(most_tokens // size - 1, -1, -1):
        row = lookup(place)
        if row is not None and (place + 1) * size % aligned == 0:
            return [*_nulls(kind, place), row], (place + 1) * size
    return [], 0


_FINDERS = {"full": _from_the_start, "window": _window, "chunk": _chunk, "state": _state}
