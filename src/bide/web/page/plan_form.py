"""How many GPUs: the form, in the steps of the question."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from bide.i18n import _
from bide.web.page import controls
from bide.web.page.deployment_form import profile_note
from bide.web.page.markup import Child, h
from bide.web.page.plan_fields import MOST_SERVICES, at, places
from bide.web.page.plan_form_hardware import hardware
from bide.web.page.plan_form_parts import Folds, Inputs, step
from bide.web.page.plan_form_service import patience, requests, traffic
from bide.web.page.plan_labels import label
from bide.web.page.state import State


def services(state: State, shown: int) -> Markup:
    """The services by name, where there are several: the form below is of the one that is shown."""
    present = places(state.frozen())
    if len(present) == 1:
        return Markup("")
    made = [_service(state, place, place == shown) for place in present]
    add = controls.button(_("Add a service"), "add-service", class_="link") if len(present) < MOST_SERVICES else None
    named = controls.text(state, at("service", shown), label("service"))
    gone = controls.button(_("Remove this service"), "drop-service", f"{shown}", class_="link")
    group = h("div", made, add, class_="row", role="group", aria_label=_("Services"))
    return h("div", h("span", _("Services"), class_="label"), group, named, h("div", gone), class_="fields services")


def _service(state: State, place: int, on: bool) -> Markup:
    name = state[at("service", place)]
    return h(
        "button",
        name,
        type="button",
        class_="plain pick",
        id=f"pick-service-{place}",
        data_act="show-service",
        data_value=f"{place}",
        aria_pressed="true" if on else "false",
    )


def form(state: State, server: Any, shown: int, folds: Folds, file: Markup) -> Markup:
    """Patience, peak, workload, hardware, and the button. `file`: the form as a service file."""
    inputs = Inputs(state, shown)
    return h(
        "div",
        profile_note(state),
        step(1, _("How long do they wait?"), patience(inputs, folds)),
        step(2, _("How many come?"), traffic(inputs, folds)),
        step(3, _("What do they ask?"), requests(inputs, folds, server)),
        step(4, _("On what may it run?"), hardware(inputs, folds, server)),
        h("div", controls.button(_("Plan"), "plan", class_="strong"), _one_more(state), class_="row"),
        file,
        class_="fields",
    )


def _one_more(state: State) -> Child:
    """Beside the button while there is one service; above the form where there are several."""
    if len(places(state.frozen())) > 1:
        return None
    return controls.button(_("Add a service"), "add-service", class_="plain")
