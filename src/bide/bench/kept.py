"""Cells made of what a journal holds, or of what was measured just now: the same either way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bide.bench.asking import Ask
from bide.bench.journal import CellNotes, Closing, Kept, read_journal
from bide.bench.loads import Load
from bide.bench.measure import Measured
from bide.bench.objectives import knee
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


def closing_of(found: Measured, gap_s: tuple[float, ...]) -> Closing:
    return Closing(found.health, found.counts, found.server, found.interrupted, gap_s)


def kept_cell(number: int, notes: CellNotes, ask: Ask) -> Cell:
    return made_cell(number, notes.load, notes.outcomes, notes.closing or Closing(), ask, notes.asked_requests)


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


def found_in(ask: Ask, cells: list[Cell]) -> dict[str, Any]:
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
