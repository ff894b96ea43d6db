"""Under the tables: how to read them, what was assumed, where the figures are from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bide.i18n import _
from bide.report.curve_names import load_name
from bide.report.curve_said import CurvesSaid
from bide.report.words import assumption_text, listed, usd
from bide.simulate.operating import Curve


def notes(said: CurvesSaid) -> Iterator[str]:
    """How to read the tables, warnings, assumptions and sources; each said once."""
    yield from legend(said)
    for text in _warnings(said):
        yield _("Note: {text}").format(text=text)
    for why, items in _assumed(said).items():
        yield _("Assumed: {items} ({why})").format(items=", ".join(items), why=why)
    for source in _unique(curve.step_source for curve in said.curves):
        yield _("Source of the step times: {source}").format(source=source)
    yield from _unique(_price(curve) for curve in said.curves)


def legend(said: CurvesSaid) -> Iterator[str]:
    """What the columns mean, for whoever sees them for the first time."""
    yield _(
        "TTFT: from sending a request to its first token, waiting included. TPOT: then a token every so often, on "
        "average, with its 10th to 90th percentile. ITL: the same without others' prompts in between. E2E: to the last "
        "token. tok/s user: 1 / TPOT. running +n: n wait. $/M: dollars per million output tokens."
    )
    if any(curve.deployment.speculative_tokens for curve in said.curves):
        yield _(
            "With drafts a step brings several tokens at once: ITL is the time from one to the next, TPOT a token's."
        )
    if said.front:
        text = _("*: on the Pareto front, nothing here is both faster and does more on a GPU.")
        if any(curve.knee for curve in said.curves):
            text += " " + _("knee: from here on another client costs more waiting than it brings tokens.")
        yield text


def _warnings(said: CurvesSaid) -> Iterator[str]:
    """Each once, with the curves and loads that it is about unless that is all there are."""
    about: dict[str, list[tuple[str, list[str]]]] = {}
    for name, curve in zip(said.names, said.curves, strict=True):
        for text, loads in _loads_by_warning(curve).items():
            about.setdefault(text, []).append((name, loads if len(loads) < len(curve.points) else []))
    for text, where in about.items():
        if len(where) == len(said.curves) and not any(loads for _name, loads in where):
            yield text
            continue
        places = [f"{name}: {listed(loads)}" if loads else name for name, loads in where]
        shown = "; ".join(places) if len(said.curves) > 1 else listed(where[0][1])
        yield f"{text} ({shown})"


def _loads_by_warning(curve: Curve) -> dict[str, list[str]]:
    """The loads of each warning; one that no point has is about all of them."""
    found: dict[str, list[str]] = {}
    for point in curve.points:
        for text in point.warnings:
            found.setdefault(text, []).append(load_name(point.load))
    every = [load_name(point.load) for point in curve.points]
    for text in (*curve.deployment.warnings, *curve.warnings):
        found.setdefault(text, every)
    return found


def _assumed(said: CurvesSaid) -> dict[str, list[str]]:
    """Assumptions by reason; those that not every curve makes with the names of those that do."""
    found: dict[str, dict[str, list[str]]] = {a.why: {} for a in said.assumptions}
    for assumed in said.assumptions:
        found[assumed.why][assumption_text(assumed)] = list(said.names)
    for name, curve in zip(said.names, said.curves, strict=True):
        for assumed in curve.deployment.assumptions:
            items = found.setdefault(assumed.why, {})
            items.setdefault(assumption_text(assumed), []).append(name)
    return {why: [_on(item, names, said) for item, names in items.items()] for why, items in found.items()}


def _on(item: str, names: list[str], said: CurvesSaid) -> str:
    if len(names) == len(said.names):
        return item
    return _("{item} on {names}").format(item=item, names=listed(names))


def _price(curve: Curve) -> str:
    price = curve.deployment.gpu.cheapest if curve.deployment.gpu else None
    if price is None or curve.deployment.gpu is None:
        return _("No price of this GPU is known.")
    text = _("Price of {gpu}: {usd} an hour each, {provider} ({source})")
    gpu = curve.deployment.gpu.id
    return text.format(gpu=gpu, usd=usd(price.usd_per_hour), provider=price.provider, source=price.source)


def _unique(texts: Iterable[str]) -> Iterator[str]:
    return iter(dict.fromkeys(texts))
