"""From one plan to another: what changed in the question, what in the answer, and which change did how much.

Inputs are changed one at a time, in the order of `changes.moves`, and the question is answered after each. So
the effects add up to the whole difference; that of one input depends on those changed before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bide.errors import BideError
from bide.i18n import _
from bide.plan.changes import Change, Move, moves
from bide.plan.outcome import Outcome
from bide.plan.question import Question

Answer = Callable[[Question], Outcome]


@dataclass(frozen=True, slots=True)
class Effect:
    """Changes (several where one alone cannot be asked), and the answer before and after them."""

    changes: tuple[Change, ...]
    before: Outcome
    after: Outcome

    @property
    def gpus(self) -> int | None:
        """More GPUs than before; None where one of the two cannot be met."""
        if self.before.gpus is None or self.after.gpus is None:
            return None
        return self.after.gpus - self.before.gpus

    @property
    def usd_per_month(self) -> float | None:
        """More USD than before; None where one of the two is not known."""
        if self.before.usd_per_month is None or self.after.usd_per_month is None:
            return None
        return self.after.usd_per_month - self.before.usd_per_month


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two plans: its question where it can be asked again, its answer where it was recorded."""

    name: str
    question: Question | None
    recorded: Outcome | None = None
    why_not: str = ""
    """Why it cannot be asked again."""


@dataclass(frozen=True, slots=True)
class PlanDiff:
    """`explained` where every effect was found; else `effects` has all changes at once, and `note` says why."""

    old_name: str
    new_name: str
    whole: Effect
    effects: tuple[Effect, ...]
    explained: bool = True
    note: str = ""

    @property
    def changes(self) -> tuple[Change, ...]:
        return self.whole.changes


def differences(old: Side, new: Side, answer: Answer, changed: tuple[Change, ...] = ()) -> PlanDiff:
    """What changed from `old` to `new`. `changed` lists the changes where a side cannot be asked again."""
    now_old = answer(old.question) if old.question else None
    now_new = answer(new.question) if new.question else None
    before, after = old.recorded or now_old, new.recorded or now_new
    assert before is not None
    assert after is not None
    if old.question is None or new.question is None or now_old is None or now_new is None:
        whole = Effect(changed, before, after)
        note = " ".join(filter(None, (old.why_not, new.why_not)))
        return PlanDiff(old.name, new.name, whole, (whole,) if changed else (), False, note)
    effects = [
        *_of_bide(before, now_old, _("when {file} was written").format(file=old.name), _("now")),
        *_effects(now_old, now_new, old.question, list(moves(old.question, new.question)), answer),
        *_of_bide(now_new, after, _("now"), _("when {file} was written").format(file=new.name)),
    ]
    whole = Effect(tuple(change for effect in effects for change in effect.changes), before, after)
    return PlanDiff(old.name, new.name, whole, tuple(effects))


def _of_bide(before: Outcome, after: Outcome, old: str, new: str) -> Iterator[Effect]:
    """What the same question is answered differently at another time."""
    if before != after:
        yield Effect((Change("", _("bide, its catalogue and step times"), old, new),), before, after)


def _effects(before: Outcome, last: Outcome, question: Question, steps: list[Move], answer: Answer) -> Iterator[Effect]:
    """One for each step; where the question in between makes no sense, one for it and the next together."""
    waiting: tuple[Change, ...] = ()
    for number, step in enumerate(steps, 1):
        question = step.put(question)
        waiting += (step.change,)
        if number == len(steps):
            after: Outcome | None = last
        elif not step.matters and len(waiting) == 1:
            after = before
        else:
            after = _answered(question, answer)
        if after is not None:
            yield Effect(waiting, before, after)
            before, waiting = after, ()


def _answered(question: Question, answer: Answer) -> Outcome | None:
    """None where the question cannot be asked."""
    try:
        return answer(question)
    except BideError:
        return None
