"""Tables into Raw: every cell checked, what cannot be used counted by reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bide.errors import BadInput
from bide.i18n import _
from bide.workload.blocks import Blocks, block_tokens_of, starts_of
from bide.workload.prefixes import SEEN_BLOCK_TOKENS, chains_of_seen
from bide.workload.reading import cells, tables
from bide.workload.reading.asking import Ask
from bide.workload.reading.files import File
from bide.workload.reading.formats import Format
from bide.workload.reading.layouts import Layout, layout
from bide.workload.reading.raw import Raw
from bide.workload.reading.report import Dropped, Finding
from bide.workload.reading.times import joined, unit_of

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


def read_tables(files: Sequence[File], ask: Ask, field: str) -> tuple[Raw, Format]:
    """The requests of tables of one format, and that format. Raises BadInput for what is no such table."""
    import polars as pl

    layouts = [layout(file, ask, field) for file in files]
    first = layouts[0]
    for file, other in zip(files, layouts, strict=True):
        if other.format != first.format or set(other.paths) != set(first.paths):
            allowed = _("files of one format ({name})").format(name=first.format.name)
            raise BadInput(field, str(file.path), allowed, _("this one is {name}").format(name=other.format.name))
    frames, dropped, rows = [], [], 0
    for file, each in zip(files, layouts, strict=True):
        frame, bad_lines = tables.read(file, each.every, each.paths.get("blocks", ()), _select(each), field)
        if bad_lines:
            dropped.append(Dropped("not_json", bad_lines, _("no JSON"), file.path.name))
        rows += len(frame) + bad_lines
        dropped += _unreadable(frame, file, each, ask, field)
        frames.append(frame.filter(pl.col("prompt").is_not_null() & pl.col("output").is_not_null() & _timed(each)))
    return _raw(frames, first, ask, rows, _merged(dropped), field), first.format


def _select(layout: Layout) -> tables.Select:
    """The checked columns of a table, null where a cell cannot be read."""

    def select(frame: pl.LazyFrame) -> pl.LazyFrame:
        import polars as pl

        prompt = cells.tokens(layout.text("prompt"))
        columns = [pl.when(prompt > 0).then(prompt).alias("prompt"), _output(layout).alias("output")]
        if layout.clock:
            read = cells.number if layout.clock == "number" else cells.stamp_us
            columns.append(read(layout.text("time")).alias("time"))
        columns += [cells.number(layout.text("think")).alias("think")] if "think" in layout.paths else []
        columns += [cells.tokens(layout.text("cached")).alias("cached")] if "cached" in layout.paths else []
        plain = (role for role in ("session", "id", "parent", "blocks") if role in layout.paths)
        return frame.select(*columns, *(layout.text(role).alias(role) for role in plain))

    return select


def _output(layout: Layout) -> pl.Expr:
    """Output tokens: 0 where nothing stands, null where what stands there is no length."""
    import polars as pl

    if "output" not in layout.paths:
        return pl.lit(0, pl.Int64)
    text = layout.text("output")
    return pl.when(cells.empty(text)).then(0).otherwise(cells.tokens(text))


def _timed(layout: Layout) -> pl.Expr:
    import polars as pl

    return pl.col("time").is_not_null() if layout.clock else pl.lit(True)


def _unreadable(frame: pl.DataFrame, file: File, layout: Layout, ask: Ask, field: str) -> list[Dropped]:
    """Rows that cannot be used, by reason; with `strict` the first that should have been readable is an error."""
    found = []
    taken = None
    for role in ("prompt", "output", "time"):
        if role not in frame.columns or not frame[role].null_count():
            continue
        bad = frame[role].is_null() if taken is None else frame[role].is_null() & ~taken
        taken = frame[role].is_null() if taken is None else taken | frame[role].is_null()
        found += _reasons(bad, file, layout, role, ask, field)
    return found


def _reasons(bad: pl.Series, file: File, layout: Layout, role: str, ask: Ask, field: str) -> list[Dropped]:
    rows = bad.arg_true()
    if not len(rows):
        return []
    texts, line = tables.texts_at(file, layout.paths[role], rows, field)
    blank = [row for row, text in zip(rows, texts, strict=False) if text is None or not text.strip()]
    why = {
        "prompt": _("no prompt length from 1 to 100 million"),
        "output": _("no output length, whole and 0 or more"),
        "time": _("no time such as 2023-11-16 18:15:46.68 or a number"),
    }[role]
    unread = len(rows) - len(blank)
    found = []
    if unread:
        row, text = next((r, t) for r, t in zip(rows, texts, strict=False) if t is not None and t.strip())
        example = f"{file.path.name}:{row + line}: {layout.paths[role][0]} = {text[:60]!r}"
        if ask.strict:
            raise BadInput(field, example, _allowed(role))
        found.append(Dropped(f"unreadable_{role}", unread, why, example))
    if blank:
        said = {"prompt": _("no token counts"), "output": why, "time": _("no time")}[role]
        found.append(Dropped(f"no_{role}", len(blank), said, f"{file.path.name}:{blank[0] + line}"))
    return found


def _allowed(role: str) -> str:
    return {
        "prompt": _("a prompt length from 1 to 100 million"),
        "output": _("an output length, whole and 0 or more"),
        "time": _("a time such as 2023-11-16 18:15:46.68 or a number"),
    }[role]


def _merged(dropped: Sequence[Dropped]) -> tuple[Dropped, ...]:
    """One entry for each reason, over all files."""
    merged: dict[str, Dropped] = {}
    for each in dropped:
        before = merged.get(each.kind)
        merged[each.kind] = replace(before, count=before.count + each.count) if before else each
    return tuple(merged.values())


def _raw(
    frames: Sequence[pl.DataFrame], layout: Layout, ask: Ask, rows: int, dropped: tuple[Dropped, ...], field: str
) -> Raw:
    import polars as pl

    time_s, findings = _clock(frames, layout, ask, field)
    frame = pl.concat(frames)
    if "id" in frame.columns and "parent" not in frame.columns and frame["id"].null_count() == 0:
        again = ~frame["id"].is_first_distinct()
        if again.any():
            dropped += (Dropped("duplicate_id", int(again.sum()), _("a request id that came before")),)
            frame = frame.filter(~again)
            time_s = time_s[(~again).to_numpy()] if time_s is not None else None
    prompt = frame["prompt"].to_numpy()
    session = _sessions(frame)
    blocks, more = _blocks(frame, prompt, session, layout, ask, field)
    return Raw(
        rows,
        prompt,
        frame["output"].to_numpy(),
        time_s,
        blocks,
        session,
        frame["think"].to_numpy() if "think" in frame.columns else None,
        frame["cached"].fill_null(0).to_numpy() if "cached" in frame.columns else None,
        {role: " / ".join(paths) for role, paths in layout.paths.items()},
        dropped,
        (*findings, *more),
    )


def _clock(
    frames: Sequence[pl.DataFrame], layout: Layout, ask: Ask, field: str
) -> tuple[Floats | None, tuple[Finding, ...]]:
    """Seconds on one clock, and how they were come by."""
    import numpy as np

    if layout.clock is None:
        return None, ()
    if layout.clock == "stamp":
        times_us = np.concatenate([frame["time"].to_numpy() for frame in frames])
        text = _("time stamps are dates: differences in microseconds, zones respected")
        first = int(times_us.min()) if len(times_us) else 0
        return (times_us - first) / 1e6, (Finding("time_unit", text, {"unit": "date"}),)
    values = np.concatenate([frame["time"].to_numpy() for frame in frames])
    unit = unit_of(values, ask.time_unit, layout.format.time_unit, layout.format.title, field)
    text = _("time stamps are numbers, taken as {unit}: {why}").format(unit=unit.name, why=unit.why)
    findings = [Finding("time_unit", text, {"unit": unit.name})]
    times_s, laid = joined([frame["time"].to_numpy() * unit.seconds for frame in frames])
    if laid:
        findings.append(Finding("files_end_to_end", _("every file's clock begins anew: laid end to end"), {}))
    return times_s, tuple(findings)


def _blocks(
    frame: pl.DataFrame, prompt: Ints, session: Ints | None, layout: Layout, ask: Ask, field: str
) -> tuple[Blocks | None, tuple[Finding, ...]]:
    """The chains, their size as asked, or as the format has it, or as told from the lengths."""
    if layout.format.cached_is_shared and session is not None:
        return _seen(frame, prompt, session, ask)
    if "blocks" not in frame.columns:
        return None, ()
    lists = frame["blocks"].list.drop_nulls()
    counts = lists.list.len().fill_null(0).to_numpy().astype("int64")
    stated = layout.format.block_tokens
    tokens = ask.block_tokens or stated or block_tokens_of(prompt, counts)
    if tokens is None:
        if not counts.any():
            return None, ()
        hint = _("they do not follow from the lengths of prompts and chains; --trace-block-tokens says them")
        raise BadInput(f"{field}.block_tokens", None, _("the tokens of a block"), hint)
    how = _("as asked") if ask.block_tokens else _("as the format has it") if stated else _("told from the lengths")
    text = _("prompts are hashed in blocks of {tokens} tokens ({how})").format(tokens=tokens, how=how)
    finding = Finding("block_tokens", text, {"block_tokens": tokens})
    return Blocks(starts_of(counts), _ids(lists.filter(lists.list.len() > 0).explode()), tokens).numbered(), (finding,)


def _seen(frame: pl.DataFrame, prompt: Ints, session: Ints, ask: Ask) -> tuple[Blocks, tuple[Finding, ...]]:
    """Chains from the tokens that a request shares with the one before it in its session."""
    tokens = ask.block_tokens or SEEN_BLOCK_TOKENS
    text = _("what prompts share is told from the tokens cached in their session, in blocks of {tokens}")
    finding = Finding("block_tokens", text.format(tokens=tokens), {"block_tokens": tokens})
    return chains_of_seen(prompt, frame["cached"].fill_null(0).to_numpy(), session, tokens), (finding,)


def _ids(texts: pl.Series) -> Ints:
    """Ids as numbers: what they are where they are small numbers, else their rank among all."""
    import polars as pl

    numbers = texts.cast(pl.Int64, strict=False)
    ids: Ints = (numbers if not numbers.null_count() else texts.rank("dense").cast(pl.Int64)).to_numpy()
    return ids


def _sessions(frame: pl.DataFrame) -> Ints | None:
    """Numbers of conversations: from their ids, or by following each request to the one before it."""
    import numpy as np
    import polars as pl

    if "parent" in frame.columns and "id" in frame.columns:
        return _roots(frame["id"].to_list(), frame["parent"].to_list())
    if "session" not in frame.columns:
        return None
    named = frame["session"].rank("dense").cast(pl.Int64).to_numpy()
    missing = np.isnan(named) if named.dtype.kind == "f" else np.zeros(len(named), bool)
    own = len(named) + np.arange(len(named))
    return np.where(missing, own, np.nan_to_num(named)).astype(np.int64)


def _roots(ids: Sequence[str | None], parents: Sequence[str | None]) -> Ints:
    import numpy as np

    session_of: dict[str | None, int] = {}
    sessions = np.empty(len(ids), np.int64)
    for row, (name, parent) in enumerate(zip(ids, parents, strict=True)):
        sessions[row] = session_of.get(parent, row)
        session_of[name] = int(sessions[row])
    return sessions
