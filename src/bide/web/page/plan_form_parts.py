"""Pieces of a plan's form: steps, folds, boxes to tick, and the inputs of the service that is shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from bide.i18n import _, numeral
from bide.web.page import controls
from bide.web.page.markup import Child, h
from bide.web.page.plan_fields import at, of_service
from bide.web.page.plan_labels import label
from bide.web.page.state import State


@dataclass(slots=True)
class Folds:
    """Parts of the form that are closed at first. One that holds what is wrong is made anew, open."""

    _keys: dict[str, frozenset[str]] = field(default_factory=dict)
    _turns: dict[str, int] = field(default_factory=dict)

    def reveal(self, key: str) -> None:
        """Have the fold of an input open when it is next shown."""
        for name, keys in self._keys.items():
            if key in keys:
                self._turns[name] = self._turns.get(name, 0) + 1

    def fold(self, inputs: Inputs, name: str, title: str, names: Sequence[str], inner: Child) -> Markup:
        """`names`: the inputs in it, of which the title says how many are set."""
        keys = [inputs.key(each) for each in names]
        named = f"{name}-{inputs.place}"
        self._keys[named] = frozenset(keys)
        count = sum(inputs.state.is_set(key) for key in keys)
        told = h("span", _(" · {n} set").format(n=count), class_="hint") if count else None
        turn, body = self._turns.get(named, 0), h("div", inner, class_="fields")
        return h("details", h("summary", title, told), body, class_="more", id=f"fold-{named}-{turn}", open=turn > 0)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of one service, by the names of the first one's."""

    state: State
    place: int

    def key(self, name: str) -> str:
        return at(name, self.place) if at(name, self.place) in self.state.names() else name

    def __getitem__(self, name: str) -> str:
        return self.state[self.key(name)]

    def values(self) -> Mapping[str, str]:
        return of_service(self.state.frozen(), self.place)

    def text(self, name: str, *, hint: str = "", **more: object) -> Markup:
        """A line of text or a number."""
        return controls.text(self.state, self.key(name), label(name), hint=hint, **more)  # type: ignore[arg-type]

    def select(self, name: str, options: controls.Options, *, hint: str = "") -> Markup:
        return controls.select(self.state, self.key(name), label(name), options, hint=hint)

    def slider(self, name: str, steps: Sequence[str], unit: str = "") -> Markup:
        now = shown_number(self.state.text(self.key(name)))
        said = f"{now} {unit}".strip()
        return controls.slider(self.state, self.key(name), label(name), steps, said, unit=unit)

    def boxes(self, name: str, values: Iterable[str]) -> Markup:
        """Several of a few."""
        return boxes(self.state, self.key(name), label(name), values)


def step(number: int, title: str, inner: Iterable[Child]) -> Markup:
    legend = h("legend", h("span", f"{number}", class_="ordinal"), " ", title)
    return h("fieldset", legend, h("div", inner, class_="fields"), class_="step")


def shown_number(text: str) -> str:
    """With the separators of the language, where it is one."""
    return numeral(float(text), ",g") if text.replace(".", "", 1).isdecimal() else text


def pairs(*fields: Child) -> Markup:
    """Two beside each other."""
    return h("div", fields, class_="pairs")


def radios(key: str, legend: str, options: controls.Options, now: str) -> Markup:
    """One of a few, all to be seen."""
    made = [
        h(
            "label",
            h("input", type="radio", name=key, id=f"{key}-{value}", value=value, checked=value == now, data_set=key),
            h("span", text),
            class_="box-of",
        )
        for value, text in options
    ]
    inner = h("div", made, class_="boxes")
    return h("fieldset", h("legend", legend, class_="label"), inner, class_="field plain-set")


def boxes(state: State, key: str, legend: str, values: Iterable[str]) -> Markup:
    """Several of a few."""
    on = state[key].split(",")
    made = [
        h(
            "label",
            h("input", type="checkbox", id=f"{key}-{value}", checked=value in on, data_set=key, data_value=value),
            h("span", value),
            class_="box-of",
        )
        for value in values
    ]
    error = state.error(key)
    wrong = h("span", error, class_="wrong", role="alert", id=f"{key}-wrong") if error else None
    inner = h("div", made, class_="boxes")
    return h(
        "fieldset", h("legend", legend, class_="label"), inner, wrong, class_="field plain-set", id=key, tabindex="-1"
    )


def ticked(values: str, change: str) -> str:
    """Comma-separated values after one was ticked (`+fp8`) or no more (`-fp8`)."""
    sign, value = change[:1], change[1:]
    kept = [one for one in values.split(",") if one and one != value]
    return ",".join([*kept, value] if sign == "+" else kept)
