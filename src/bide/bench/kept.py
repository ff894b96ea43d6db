"""Cells made of what a journal holds, or of what was measured just now: the same either way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bide.bench.asking import Ask
from bide.bench.journal import CellNotes, Closing, Kept, read_journal
from bide.bench.loads import Load
from bide.bench.measure import Measured
from bide.bench.objectives import knee, parse_objectives, search
from bide.bench.outcome import Outcome
from bide.bench.result import Bench, Cell
from bide.errors import BadInput
from bide.i18n import _, ngettext


def load_result(journal: Path, field_name: str = "journal") -> Bench:
    """The run in a journal as far as it went, without measuring anything. Raises BadInput naming `field_name`."""
    kept = read_journal(journal, field_name)
    ask = asked_in(kept, journal, field_name)
    cells = [kept_cell(number, notes, ask) for number, notes in sorted(kept.cells.items()) if notes.outcomes]
    if not cells:
        raise BadInput(field_name, str(journal), _("a journal with a request in it"), " ".join(read_notes(kept)))
    return Bench(kept.settings, tuple(cells), found_in(ask, cells), read_notes(kept))


def asked_in(kept: Kept, journal: Path, field_name: str) -> Ask:
    """What the journal says was asked for. Raises BadInput."""
    try:
        return Ask.from_dict(kept.settings["ask"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        hint = _("what was asked, in line 1, is not understood: {why}").format(why=error)
        raise BadInput(field_name, str(journal), _("a journal of `bide bench`"), hint) from error


def closing_of(found: Measured, before: Closing, gap_s: tuple[float, ...]) -> Closing:
    """Of a sitting and all before it: the client was as good as in the worst. The server's view is that of the last."""
    health, counts = found.health.joined(before.health), dict(found.counts)
    for name, count in before.counts.items():
        here = counts.get(name, 0)
        counts[name] = max(here, count) if name.startswith("most_") else here + count
    return Closing(health, counts, found.server, found.interrupted, gap_s)


def standing(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Without what an interruption gave up and a later sitting sent again."""
    done = {each.number for each in outcomes if each.status != "cancelled"}
    return [each for each in outcomes if each.status != "cancelled" or each.number not in done]


def kept_cell(number: int, notes: CellNotes, ask: Ask) -> Cell:
    return made_cell(
        number, notes.load, standing(notes.outcomes), notes.closing or Closing(), ask, notes.asked_requests
    )


def made_cell(
    number: int, load: Load, outcomes: list[Outcome], closing: Closing, ask: Ask, asked_requests: int | None
) -> Cell:
    return Cell(
        number,
        load,
        outcomes,
        closing.health,
        closing.counts,
        closing.server,
        ask.warm_up_s,
        ask.limits_s,
        closing.interrupted,
        closing.gap_s,
        asked_requests,
        ask.shared_prefix_tokens,
    )


Play = Callable[[Load], Cell]


class _Missing(Exception):
    """A level that a journal does not hold to its end."""


def found_by(ask: Ask, play: Play, first: Load, cells: Sequence[Cell]) -> dict[str, Any]:
    """What playing all that was asked brings, the search from `first` on; `play` puts each level into `cells`."""
    if ask.slo:
        made = search(play, first, parse_objectives(ask.slo), ask.precision)
        return {"slo": {"objectives": ask.slo, **made.to_dict()}}
    for load in ask.loads:
        if play(load).interrupted:
            break
    return found_in(ask, cells)


def whole_run(kept: Kept, ask: Ask) -> Bench | None:
    """The run of a journal in which nothing is missing, for which no server is asked; None where something is."""
    cells: list[Cell] = []

    def play(_load: Load) -> Cell:
        notes = kept.cells.get(len(cells))
        if notes is None or not notes.is_whole:
            raise _Missing
        cells.append(kept_cell(len(cells), notes, ask))
        return cells[-1]

    try:
        found = found_by(ask, play, first_kept(kept, ask), cells)
    except _Missing:
        return None
    return Bench(kept.settings, tuple(cells), found, read_notes(kept))


def first_kept(kept: Kept, ask: Ask) -> Load:
    """Where a search began, or is to begin."""
    return kept.cells[0].load if 0 in kept.cells else ask.loads[0]


def found_in(ask: Ask, cells: Sequence[Cell]) -> dict[str, Any]:
    best = knee(cells) if len(ask.loads) > 1 else None
    return {"knee": {"cell": best.number, "level": best.load.level}} if best else {}


def read_notes(kept: Kept) -> tuple[str, ...]:
    """What of the journal could not be read."""
    lost = kept.lost_lines
    if not lost:
        return ()
    text = ngettext(
        "{n} line of the journal was cut off or is not understood, and left out: line {first}",
        "{n} lines of the journal were cut off or are not understood, and left out: the first is line {first}",
        len(lost),
    )
    return (text.format(n=len(lost), first=lost[0]),)
