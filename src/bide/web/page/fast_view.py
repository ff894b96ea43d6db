"""How fast, as HTML."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from bide.i18n import _, numeral
from bide.report.curve_explain import explained_point
from bide.report.curve_names import load_name
from bide.report.curve_notes import notes as curve_notes
from bide.report.curve_said import CurvesSaid, best, headline
from bide.report.curve_sentences import sentences, spanned, tokens, waits_for
from bide.report.curve_table import bound_name, curve_table, limits
from bide.report.words import usd
from bide.simulate.operating import Curve, Point
from bide.web.page import controls
from bide.web.page.deployment_form import knobs, profile_note, split_and_formats
from bide.web.page.fast_answer import VARIED, FastAnswer
from bide.web.page.gpu_chips import gpu_chips
from bide.web.page.markup import Child, h, notes, table, trouble, unbroken, why
from bide.web.page.state import State

_LENGTHS = tuple(str(n) for n in (1, 16, 32, 64, 128, 256, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000))
_CLIENTS = tuple(str(n) for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024))


def form(state: State) -> Markup:
    """GPUs, lengths, clients, and how it is run."""
    return h(
        "div",
        profile_note(state),
        gpu_chips(state, "gpus"),
        _slider(state, "prompt", _("Prompt, tokens"), _LENGTHS),
        _slider(state, "output", _("Answer, tokens"), _LENGTHS),
        _slider(state, "clients", _("Requests at once"), _CLIENTS),
        controls.select(state, "vary", _("Compare as well"), _compared()),
        h(
            "details",
            h("summary", _("More settings")),
            split_and_formats(state),
            knobs(state),
            class_="more",
            id="fast-more",
        ),
        class_="fields",
    )


def _slider(state: State, key: str, label: str, steps: tuple[str, ...]) -> Markup:
    text = state.text(key)
    return controls.slider(state, key, label, steps, numeral(int(text), ",") if text.isdigit() else text)


def _compared() -> list[tuple[str, str]]:
    names = {
        "": _("nothing else"),
        "tp": _("tensor parallel {values}"),
        "kv_dtype": _("KV cache {values}"),
        "weights": _("weights {values}"),
        "max_num_batched_tokens": _("tokens in a step {values}"),
        "speculative_tokens": _("drafted tokens {values}"),
    }
    return [(key, names[key].format(values=", ".join(str(v) for v in values))) for key, values in VARIED.items()]


def hero(shown: FastAnswer) -> Markup:
    """The answer in sentences."""
    if not shown.said.curves:
        return h("div", [trouble(f"{name}: {reason}") for name, reason in shown.said.misfits])
    first, *more = sentences(shown.said)
    reason = why("why-answer", list(_behind(shown.said)), _("this answer"))
    return h("div", h("h2", unbroken(first), " ", reason), [h("p", unbroken(text), class_="sentence") for text in more])


def _behind(said: CurvesSaid) -> Iterator[str]:
    """The arithmetic of each point that the headline names."""
    named = dict.fromkeys((number, said.curves[number].points.index(point)) for number, point in _named(said))
    for number, place in named:
        curve = said.curves[number]
        point = curve.points[place]
        yield _("Where the time goes: {name} with {load}").format(name=said.names[number], load=load_name(point.load))
        yield from arithmetic(curve, point)
        yield from _source(curve)


def _named(said: CurvesSaid) -> Iterator[tuple[int, Point]]:
    for group in said.groups():
        if len(group) == 1:
            yield group[0], headline(said.curves[group[0]])
        else:
            yield from filter(None, (best(said, group, streaming) for streaming in (True, False)))


def at_clients(shown: FastAnswer) -> Markup:
    """Every curve at the requests that were set: time, work, cost, what binds, and the milliseconds behind it."""
    if not shown.chosen:
        return Markup("")
    title = _("With {load}").format(load=load_name(shown.chosen[0].load))
    headers = [
        _("what"),
        _("a token every"),
        _("the first after"),
        _("tokens/s per GPU"),
        _("$ per million"),
        _("binds"),
        "",
    ]
    each = zip(shown.said.names, shown.said.curves, shown.chosen, strict=True)
    rows = [_row(number, name, curve, point) for number, (name, curve, point) in enumerate(each)]
    return h("div", h("h3", title), table(headers, rows, title, class_="swatched"))


def _row(number: int, name: str, curve: Curve, point: Point) -> list[Child]:
    cost = curve.usd_per_million_output_tokens(point)
    swatch = h("span", class_=f"swatch part-{number % 6 + 1}")
    lines = [
        *(line[2:] if line.startswith("  ") else line for line in arithmetic(curve, point)),
        waits_for(point.bound),
        *_source(curve),
    ]
    return [
        h("span", swatch, name),
        spanned(point, "tpot_s"),
        spanned(point, "ttft_s"),
        tokens(curve, point),
        usd(cost) if cost is not None else "–",
        bound_name(point.bound),
        why(f"why-point-{number}", lines, name),
    ]


def arithmetic(curve: Curve, point: Point) -> Iterator[str]:
    """The explanation of a point as the command line has it, its bars of signs left out."""
    for line in explained_point(curve, point):
        if "#" not in line:
            yield line
            continue
        parts = [part.strip() for part in line.replace("#", "").split("  ")]
        yield " " * (len(line) - len(line.lstrip())) + " · ".join(filter(None, parts))


def _source(curve: Curve) -> Iterator[str]:
    yield _("Source of the step times: {source}").format(source=curve.step_source)


def parts_choice(shown: FastAnswer, state: State) -> Markup:
    """Which curve's parts are shown, where there are several."""
    if len(shown.said.names) < 2:
        return Markup("")
    options = [(str(number), name) for number, name in enumerate(shown.said.names)]
    return controls.select(state, "parts_of", _("Where a token's time goes: of"), options)


def tables(shown: FastAnswer) -> Markup:
    """The points of each curve, closed at first."""
    made = []
    for number, curve in enumerate(shown.said.curves):
        headers, rows = curve_table(shown.said, number)
        name = shown.said.names[number]
        marks = ["knee" if point is curve.knee else "" for point in curve.points]
        inner = [table(headers, rows, name, marks=marks), h("p", limits(curve), class_="legend")]
        made.append(
            h(
                "details",
                h("summary", _("All points: {name}").format(name=name)),
                inner,
                class_="notes",
                id=f"points-{number}",
            )
        )
    return h("div", made)


def endings(shown: FastAnswer) -> Markup:
    return notes(curve_notes(shown.said), _("Notes, assumptions, sources"))
