"""An input of several GPUs: each to be taken away, and a choice that adds one."""

from __future__ import annotations

from markupsafe import Markup

from bide.facts.gpus import find_gpu
from bide.i18n import _
from bide.web.page import controls
from bide.web.page.deployment_form import gpu_groups
from bide.web.page.markup import h
from bide.web.page.state import State


def gpu_chips(state: State, key: str) -> Markup:
    """The choice sets `add-gpu`, the buttons ask for `drop-gpu`."""
    chosen = state[key].split(",")
    chips = [_chip(gpu, len(chosen) > 1) for gpu in chosen]
    add = [h("option", _("Add a GPU"), value="")]
    add += [
        h("optgroup", [h("option", name, value=gpu) for gpu, name in options if gpu not in chosen], label=vendor)
        for vendor, options in gpu_groups().items()
    ]
    more = h("select", add, id=key, data_set="add-gpu", aria_label=_("Add a GPU"))
    wrong = h("span", state.error(key), class_="wrong", role="alert") if state.error(key) else None
    return h("div", h("span", _("GPUs"), class_="label"), h("ul", chips, class_="chips"), more, wrong, class_="field")


def _chip(gpu: str, removable: bool) -> Markup:
    name = gpu_name(gpu)
    gone = controls.button("×", "drop-gpu", gpu, class_="shut-row", name=_("Remove {name}").format(name=name))
    return h("li", h("span", name), gone if removable else None)


def gpu_name(gpu: str) -> str:
    """As a form has it, which says the vendor elsewhere or not at all."""
    return find_gpu(gpu).name.removeprefix("NVIDIA ")
