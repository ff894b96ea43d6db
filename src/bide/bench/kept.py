"""Cells made of what a journal holds, or of what was measured just now: the same either way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bide.bench.asking import Ask
from bide.bench.health import Health
from bide.bench.journal import CellNotes, Kept, read_journal
from bide.bench.loads import Load
from bide.bench.measure import Measured
from bide.bench.objectives import knee
from bide.bench.outcome import Outcome
from bide.bench.result import Bench, Cell
from bide.bench.scrape import ServerView
from bide.errors import BadInput
from bide.i18n import _, ngettext


def load_result(journal: Path) -> Bench:
    """The run in a journal as far as it went, without measuring anything."""
    kept = read_journal(journal, "journal")
    ask = asked_in(kept, journal, "journal")
    cells = [kept_cell(number, notes, ask) for number, notes in enumerate(kept.cells) if notes.outcomes]
    if not cells:
        raise BadInput("journal", str(journal), _("a journal with a request in it"))
    return Bench(kept.settings, tuple(cells), found_in(ask, cells), read_notes(kept))


def asked_in(kept: Kept, journal: Path, field_name: str) -> Ask:
    """What the journal says was asked for. Raises BadInput."""
    try:
        return Ask.from_dict(kept.settings["ask"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        hint = _("what was asked is not understood: {why}").format(why=error)
        raise BadInput(field_name, str(journal), _("a journal of `bide bench`"), hint) from error


def closing_of(found: Measured, gaps: tuple[float, ...]) -> dict[str, Any]:
    return {
        "health": found.health.to_dict(),
        "counts": found.counts,
        "server": found.server.to_dict(),
        "interrupted": found.interrupted,
        "gap_s": list(gaps),
    }


def kept_cell(number: int, notes: CellNotes, ask: Ask) -> Cell:
    closing = notes.closing or {
        "health": {},
        "counts": {},
        "server": {"engine": "", "samples": {}},
        "interrupted": True,
    }
    load = Load.from_dict(notes.about["load"])
    return made_cell(number, load, notes.outcomes, closing, ask, notes.about["asked_requests"])


def made_cell(
    number: int, load: Load, outcomes: list[Outcome], closing: Mapping[str, Any], ask: Ask, asked: int | None
) -> Cell:
    health = {name: value for name, value in closing["health"].items() if name != "cpu_share"}
    return Cell(
        number,
        load,
        outcomes,
        Health(**health),
        closing["counts"],
        ServerView.from_dict(closing["server"]),
        ask.warm_up_s,
        ask.limits_s,
        closing["interrupted"],
        gap_s=tuple(closing.get("gap_s", ())),
        asked_requests=asked,
    )


def found_in(ask: Ask, cells: list[Cell]) -> dict[str, Any]:
    best = knee(cells) if len(ask.loads) > 1 else None
    return {"knee": {"cell": best.number, "level": best.load.level}} if best else {}


def read_notes(kept: Kept) -> tuple[str, ...]:
    cut = kept.cut_lines
    return (
        (
            ngettext(
                "{n} line of the journal was cut off and left out",
                "{n} lines of the journal were cut off and left out",
                cut,
            ).format(n=cut),
        )
        if cut
        else ()
    )
