"""How the day goes, in a plan's form: a published curve, the trace's own, or 24 numbers; drawn in a line."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from bide.facts.diurnal import day_curves
from bide.i18n import _
from bide.web.page import controls
from bide.web.page.markup import Child, h
from bide.web.page.plan_form_parts import Inputs
from bide.web.page.plan_labels import label

OWN = "own"
_HIGH, _WIDE = 40.0, 10.0
"""Of the drawing, and of an hour in it."""


def day(inputs: Inputs) -> Markup:
    """The choice, the numbers where they are the visitor's, a drawing, and how long a new replica takes."""
    key, now = inputs.key("hours"), inputs.state.text(inputs.key("hours"))
    own = bool(now) and now not in (*day_curves(), "trace")
    options = [*_published(), *([("trace", _("as in the trace"))] if inputs["work"] != "lengths" else []),
               (OWN, _("24 numbers of mine"))]  # fmt: skip
    made: list[Child] = [
        h("label", label("hours"), for_=f"{key}-of"),
        h("select", [_option(value, text, OWN if own else now) for value, text in options], id=f"{key}-of",
          data_set=f"{key}-of"),
    ]  # fmt: skip
    if own:
        hint = _("from midnight on; rates or shares, for only their ratios count")
        made.append(controls.text(inputs.state, key, _("24 numbers"), hint=hint))
    shares = hours_of(inputs["hours"])
    if shares:
        made.append(drawn(shares))
    elif inputs.state.error(key):
        made.append(h("span", inputs.state.error(key), class_="wrong", role="alert"))
    scale = inputs.text("scale_up", hint=_("from asking for it to its first request"), inputmode="numeric")
    return h("div", h("div", made, class_="field"), scale, class_="stack")


def _published() -> list[tuple[str, str]]:
    names = {
        "office": _("office hours: ten times as much by day as at night"),
        "chat": _("conversations: twice as much by day as at night"),
        "consumer": _("consumers: busiest in the evening"),
    }
    return [("", _("not said")), *((name, names.get(name, name)) for name in day_curves())]


def _option(value: str, text: str, now: str) -> Markup:
    return h("option", text, value=value, selected=value == now)


def hours_of(text: str) -> tuple[float, ...]:
    """24 shares of the busiest hour; none where they are not known here."""
    curve = day_curves().get(text)
    if curve is not None:
        return curve.hours
    if "," not in text:
        return ()
    rates = [float(part) for part in text.split(",")]
    return tuple(rate / max(rates) for rate in rates)


def chosen(choice: str, now: str) -> str:
    """What the input holds after a choice: for numbers of one's own those of the curve that was there."""
    if choice != OWN:
        return choice
    return ",".join(f"{share:.3g}" for share in hours_of(now) or (1.0,) * 24)


def drawn(shares: Sequence[float]) -> Markup:
    """A bar for each hour."""
    bars = [_bar(hour, share) for hour, share in enumerate(shares)]
    text = _("busiest at {high}:00, least at {low}:00 with {share:.0%} of that").format(
        high=max(range(len(shares)), key=shares.__getitem__),
        low=min(range(len(shares)), key=shares.__getitem__),
        share=min(shares),
    )
    picture = h("svg", bars, viewBox=f"0 0 {_WIDE * len(shares):g} {_HIGH:g}", preserveAspectRatio="none",
                class_="spark", role="img", aria_label=text)  # fmt: skip
    return h("div", picture, h("span", text, class_="hint"))


def _bar(hour: int, share: float) -> Markup:
    high = max(1.0, share * _HIGH)
    return h("rect", x=f"{hour * _WIDE + 1:g}", y=f"{_HIGH - high:.1f}", width=f"{_WIDE - 2:g}", height=f"{high:.1f}")
