"""A whole run: probe the server, measure every level, write as it goes, take up what was cut off."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bide import __version__
from bide.bench.asking import Ask, demand_of, vocabulary_of
from bide.bench.cell import CellPlan
from bide.bench.demand import Demand
from bide.bench.journal import SCHEMA, CellNotes, Closing, Journal, Kept, read_journal
from bide.bench.kept import (
    asked_in,
    closing_of,
    first_kept,
    found_by,
    kept_cell,
    made_cell,
    read_notes,
    standing,
    whole_run,
)
from bide.bench.loads import MOST_USERS, Load
from bide.bench.loop import run_on_loop
from bide.bench.measure import Going, Measured, measure, processes_for
from bide.bench.objectives import parse_objectives
from bide.bench.probe import Asker, Probe, probe
from bide.bench.prompts import Fields, Sharing, Tokens
from bide.bench.result import Bench, Cell
from bide.bench.scrape import cache_facts, draft_facts, fetch, server_facts
from bide.bench.sitting import asked_requests, remaining, warmed_up
from bide.bench.target import Target, is_here
from bide.bench.words import Ribbon
from bide.errors import BadInput
from bide.i18n import _

_USUAL_TPOT_S = 0.02
"""Of a server that was not probed, for the number of client processes alone."""
Watch = Callable[[int, Load, Going], None]


def _unwatched(_number: int, _load: Load, _going: Going) -> None:
    pass


def bench(target: Target, ask: Ask, journal: Path | None = None, watch: Watch = _unwatched) -> Bench:
    """Load a live server and measure it. Raises BadInput where it does not answer or cannot be asked so."""
    if ask.slo:
        parse_objectives(ask.slo)
    salt = int.from_bytes(os.urandom(6)) if ask.nonce else 0
    session = _begun(target, ask, salt, watch)
    session.journal = Journal(journal)
    session.journal.write("run", {"schema": SCHEMA, "settings": session.settings})
    session.journal.flush()
    return session.run()


def resume(target: Target, journal: Path, watch: Watch = _unwatched) -> Bench:
    """Go on with a run that was cut off: cells that are whole stay, requests that are missing are sent.

    Where nothing is missing no server is asked. Raises BadInput for another server or model than the journal's.
    """
    kept = read_journal(journal)
    if kept.settings["url"] != target.shown:
        raise BadInput("url", target.shown, _("the server of the journal, {url}").format(url=kept.settings["url"]))
    ask = asked_in(kept, journal, "resume")
    whole = whole_run(kept, ask)
    if whole is not None:
        return whole
    session = _begun(target, replace(ask, model=kept.settings["model"]), kept.settings["salt"], watch)
    session.kept = kept
    session.journal = Journal(journal, fresh=False)
    return session.run()


@dataclass(slots=True)
class Session:
    """The state of a run."""

    target: Target
    ask: Ask
    salt: int
    ribbon: Ribbon
    probed: Probe | None
    settings: dict[str, Any]
    watch: Watch
    journal: Journal = field(default_factory=lambda: Journal(None))
    kept: Kept = field(default_factory=lambda: Kept({}))
    cells: list[Cell] = field(default_factory=list)

    def run(self) -> Bench:
        """Every level, or the search; what was measured before an interruption is in the result."""
        try:
            found = found_by(self.ask, self.play, self._first(), self.cells)
        finally:
            self.journal.close()
        notes = (*read_notes(self.kept), *_journal_notes(self.journal))
        return Bench(self.settings, tuple(self.cells), found, notes)

    def _first(self) -> Load:
        """Where a search begins: as asked, at a trace's own rate, or at the rate of one request after another."""
        load = first_kept(self.kept, self.ask)
        if load.level or not self.ask.slo:
            return load
        if load.kind == "replay":
            return replace(load, rate=max(0.01, demand_of(self.ask, load).requests_per_s))
        return replace(load, rate=max(0.01, 1 / max(1e-3, self._stay_s(demand_of(self.ask, replace(load, rate=1.0))))))

    def _stay_s(self, demand: Demand) -> float:
        """An answer to a server at rest, as probed."""
        if self.probed is None:
            return 1.0
        return self.probed.ttft_s + demand.mean_output_tokens * self.probed.tpot_s

    def play(self, load: Load) -> Cell:
        """Measure the next level, or take it from the journal, or what of it is missing there."""
        number = len(self.cells)
        notes = self.kept.cells.get(number)
        if notes is not None and notes.is_whole:
            cell = kept_cell(number, notes, self.ask)
        else:
            plan = self._plan(number, notes.load if notes else load)
            cell = self._measured(number, plan, asked_requests(plan), notes)
        self.cells.append(cell)
        return cell

    def _measured(self, number: int, plan: CellPlan, asked: int | None, notes: CellNotes | None) -> Cell:
        before = [each for each in notes.outcomes if each.status != "cancelled"] if notes else []
        if notes is None:
            self.journal.write("cell", {"cell": number, "load": plan.load.to_dict(), "asked_requests": asked})
        plan = remaining(plan, before)
        if self.ask.warm_up_requests and warmed_up(plan, self.ask.warm_up_requests).interrupted:
            found = Measured(interrupted=True)
        else:
            processes, spared = self._processes(plan)
            found = measure(plan, processes, self.journal, number, lambda going: self.watch(number, plan.load, going))
            found.health = replace(found.health, spared_cores=spared)
        closed = (notes.closing if notes else None) or Closing()
        closing = closing_of(found, closed, (*closed.gap_s, plan.offset_s) if notes else ())
        self.journal.write("cell_end", {"cell": number, **closing.to_dict()})
        self.journal.flush()
        return made_cell(number, plan.load, standing([*before, *found.outcomes]), closing, self.ask, asked)

    def _plan(self, number: int, load: Load) -> CellPlan:
        demand = demand_of(self.ask, load)
        salt = self.salt + number if self.ask.nonce else 0
        return CellPlan(
            self.target,
            self.settings["model"],
            self.probed.fields
            if self.probed
            else Fields(extra=dict(self.ask.extra), ends_only_at_length=self.ask.exact),
            self.probed.tokens if self.probed else Tokens(),
            self.ribbon,
            Sharing(salt, self.ask.shared_prefix_tokens),
            demand,
            load,
            self.ask.rules,
            self.ask.seed,
            stay_s=self._stay_s(demand) if self.probed else 0.0,
            spread_s=min(self._stay_s(demand), 0.2 * (load.duration_s or 1e9), 60.0),
            scrape_s=self.ask.scrape_s,
        )

    def _processes(self, plan: CellPlan) -> tuple[int, int]:
        """As asked; else what the expected load needs, and the cores that it leaves to a server on this machine.

        Never more than there are users, or requests in flight: each is of one process.
        """
        most = min(plan.rules.max_in_flight or MOST_USERS, plan.load.concurrency or MOST_USERS)
        if self.ask.processes is not None:
            return min(self.ask.processes, most), 0
        stay_s = self._stay_s(plan.demand) if self.probed else plan.demand.mean_output_tokens * _USUAL_TPOT_S
        per_s = plan.demand.requests_per_s or plan.load.rate or (plan.load.concurrency or 1) / max(stay_s, 1e-3)
        here = is_here(self.target.address()[0])
        chosen, spared = processes_for(per_s * plan.demand.mean_output_tokens, per_s, here)
        return min(chosen, most), spared


def _journal_notes(journal: Journal) -> list[str]:
    if not journal.trouble:
        return []
    return [
        _("the journal {path} ends early, these figures do not: {why}").format(path=journal.path, why=journal.trouble)
    ]


def _begun(target: Target, ask: Ask, salt: int, watch: Watch) -> Session:
    words, real = vocabulary_of(ask)
    ribbon = Ribbon(words, ask.seed, real)
    probed, model, server = run_on_loop(_looked(target, ask, ribbon))
    settings = {
        "url": target.shown,
        "endpoint": target.endpoint,
        "model": model,
        "version": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "salt": salt,
        "vocabulary": words.source,
        "headers": [name for name, _value in target.headers],
        "probe": probed.to_dict() if probed else None,
        "server": server,
        "ask": ask.to_dict(),
    }
    return Session(target, ask, salt, ribbon, probed, settings, watch)


async def _looked(target: Target, ask: Ask, ribbon: Ribbon) -> tuple[Probe | None, str, dict[str, Any]]:
    """The probe, the model's name, and what the server says of its start."""
    asker = Asker(target, ask.rules.timeout_s)
    try:
        probed = None
        if ask.probe:
            demand = demand_of(ask, _lengths_only(ask))
            probed = await probe(asker, ask.model, ribbon, int(demand.prompt_tokens.mean()), ask.extra, ask.exact)
            _check_room(ask, demand, probed.max_model_len)
        elif not ask.model:
            raise BadInput("model", None, _("a name: with --no-probe nobody asks the server"))
        server = server_facts(await asker.get("/version")) if ask.probe and ask.scrape_s else {}
        text = await fetch(target, target.address(), "/metrics") if ask.scrape_s else None
        if text and b"sglang:" in text:
            server |= server_facts(await asker.get("/server_info") or await asker.get("/get_server_info"))
        facts = server | cache_facts(text or b"") | draft_facts(text or b"")
        return probed, probed.model if probed else str(ask.model), facts
    finally:
        await asker.close()


def _check_room(ask: Ask, demand: Demand, longest: int | None) -> None:
    """Raises BadInput where the server would refuse every single request for its length."""
    least = int((demand.prompt_tokens + demand.output_tokens).min())
    if longest is not None and least > longest:
        name, given = ("prompt", ask.prompt) if ask.workload is None else ("workload", ask.workload)
        allowed = _("prompt and answer of at most {n:,} tokens, which is what the server takes").format(n=longest)
        raise BadInput(name, given, allowed, _("the shortest request has {n:,}").format(n=least))


def _lengths_only(ask: Ask) -> Load:
    """A load that only serves to see how long prompts are."""
    first = ask.loads[0]
    return first if first.kind == "replay" else Load("closed", concurrency=1, requests=256)
