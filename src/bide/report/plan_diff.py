"""The difference of two plans in words: what is needed now, what changed, and which change did how much."""

from __future__ import annotations

from itertools import zip_longest

from bide.i18n import _, ngettext, numeral
from bide.plan.changes import Change
from bide.plan.diff import Effect, PlanDiff
from bide.plan.outcome import Outcome
from bide.report import markdown
from bide.report.words import so_many_gpus, usd

Table = tuple[list[str], list[list[str]]]
_LONGEST = 60
_CENT = 0.01


def sentence(diff: PlanDiff) -> str:
    """`From a.yaml to b.yaml: 4 GPUs instead of 2 (+2), $8,614 a month instead of $4,307 (+$4,307).`"""
    old, new = diff.whole.before, diff.whole.after
    names = _("From {old} to {new}").format(old=diff.old_name, new=diff.new_name)
    if not diff.changes and old == new:
        return _("{names}: nothing changed, {answer}.").format(names=names, answer=_answer(new))
    if new.gpus is None or old.gpus is None:
        return _("{names}: {new}, where it was {old}.").format(names=names, new=_answer(new), old=_answer(old))
    if (old.gpus, old.usd_per_month) == (new.gpus, new.usd_per_month):
        return _("{names}: still {answer}.").format(names=names, answer=_answer(new))
    gpus = ngettext("{more} GPU", "{more} GPUs", abs(new.gpus - old.gpus))
    text = _("{names}: {new} instead of {old} ({gpus}, {usd} a month).")
    return text.format(
        names=names,
        new=_answer(new),
        old=_answer(old),
        gpus=gpus.format(more=_more_gpus(diff.whole)),
        usd=_more_usd(diff.whole),
    )


def _answer(outcome: Outcome) -> str:
    """`4 GPUs at $8,614 a month`."""
    if outcome.gpus is None:
        return _("cannot be met")
    text = so_many_gpus(outcome.gpus)
    if outcome.usd_per_month is None:
        return text
    return _("{gpus} at {usd} a month").format(gpus=text, usd=usd(outcome.usd_per_month))


def effects_table(diff: PlanDiff) -> Table:
    """A row a change: from what, to what, and what it did to GPUs and USD."""
    headers = [_("change"), _("from"), _("to"), _("GPUs"), _("USD a month"), _("then needs")]
    rows = [row for effect in diff.effects for row in _rows(effect, diff.explained)]
    return headers, rows


def _rows(effect: Effect, explained: bool) -> list[list[str]]:
    """Changes that cannot be told apart share one effect, on the last of them."""
    rows = [[_named(change), *_from_to(change), "", "", ""] for change in effect.changes]
    if rows and explained:
        rows[-1][3:] = [_more_gpus(effect), _more_usd(effect), _answer(effect.after)]
    return rows


def _named(change: Change) -> str:
    return f"{change.service}: {change.input}" if change.service else change.input


def _from_to(change: Change) -> tuple[str, str]:
    """Both shortly, and never alike: two files of one name, or long texts that differ behind their beginning."""
    old, new = _short(change.old), _short(change.new)
    if change.old == change.new:
        return old, _("{same} (other contents)").format(same=new)
    if old == new:
        pairs = enumerate(zip_longest(change.old, change.new))
        begin = next(place for place, (one, other) in pairs if one != other) - _LONGEST // 3
        old, new = (_short("…" + text[begin:]) for text in (change.old, change.new))
    return old, new


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _more_gpus(effect: Effect) -> str:
    more = effect.gpus
    return "?" if more is None else numeral(more, "+,") if more else "0"


def _more_usd(effect: Effect) -> str:
    more = effect.usd_per_month
    if more is None:
        return "?"
    if abs(more) < _CENT:
        return "0"
    return ("-" if more < 0 else "+") + usd(abs(more))


def services_table(diff: PlanDiff) -> Table:
    """What each service runs on, before and after."""
    old, new = (
        {ran.service: ran.what for ran in outcome.services} for outcome in (diff.whole.before, diff.whole.after)
    )
    rows = [[name, _ran(old, name), _ran(new, name)] for name in {**old, **new}]
    return [_("service"), _("before"), _("after")], rows


def _ran(known: dict[str, str], name: str) -> str:
    return known[name] or _("cannot be met") if name in known else "-"


def endnotes(diff: PlanDiff) -> list[str]:
    """How to read the effects."""
    if not diff.explained:
        return [diff.note, _("What each change did is therefore not told; give two service files for that.")]
    if not diff.effects:
        return []
    notes = [
        _("The inputs were changed one at a time, in this order; the effect of each depends on those before it."),
        _("GPUs and USD are the likely ones, as in the plan's first line."),
    ]
    if any(len(effect.changes) > 1 for effect in diff.effects):
        notes.append(_("Changes without figures of their own make no sense alone: they count with the next one."))
    return notes


def diff_dict(diff: PlanDiff) -> dict[str, object]:
    """Everything in it, as plain data (schema bide.plan.diff/1)."""
    return {
        "old": {"file": diff.old_name, **diff.whole.before.to_dict()},
        "new": {"file": diff.new_name, **diff.whole.after.to_dict()},
        "explained": diff.explained,
        "changes": [_change_dict(change) for change in diff.changes],
        "effects": [_effect_dict(effect) for effect in diff.effects] if diff.explained else [],
        "notes": endnotes(diff),
    }


def _change_dict(change: Change) -> dict[str, object]:
    return {"service": change.service or None, "input": change.input, "old": change.old, "new": change.new}


def _effect_dict(effect: Effect) -> dict[str, object]:
    return {
        "changes": [_change_dict(change) for change in effect.changes],
        "gpus": effect.gpus,
        "usd_per_month": effect.usd_per_month,
        "after": effect.after.to_dict(),
    }


def diff_markdown(diff: PlanDiff) -> str:
    """Sentence, effects, services, notes."""
    parts = [f"**{markdown.plain(sentence(diff))}**"]
    parts += [markdown.table(*table) for table in (effects_table(diff), services_table(diff)) if table[1]]
    if notes := endnotes(diff):
        parts.append(markdown.bullets(notes))
    return "\n\n".join(parts) + "\n"
