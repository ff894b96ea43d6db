"""A plan's form as a service file: shown, copied, downloaded, and opened from one."""

from __future__ import annotations

from markupsafe import Markup

from bide.i18n import _
from bide.web.page import controls
from bide.web.page.markup import h
from bide.web.page.plan_opening import LARGEST_BYTES

DROPPED, PASTED = "dropped-file", "pasted-file"
"""The controls of a file and of a text."""


def service_file(text: str, wrong: str, turn: int) -> Markup:
    """`wrong`: why what was opened cannot be; `turn`: of how many such refusals this is the last."""
    inner = h("div", _now(text), _open(wrong), class_="fields")
    title = h("summary", _("As a file for `bide plan`: open, save"))
    return h("details", title, inner, class_="more", id=f"fold-file-{turn}", open=turn > 0)


def _now(text: str) -> Markup:
    copy = h("button", _("Copy"), type="button", class_="plain", data_copy=_("Copied"), data_copy_from="form-file")
    shown = h("pre", text, id="form-file", tabindex="0", role="region", aria_label=_("The form as a service file"))
    save = controls.button(_("Download"), "save-file", name=_("Download the service file"))
    return h("div", h("div", shown, copy, class_="code"), save)


def _open(wrong: str) -> Markup:
    chooser = h("input", type="file", id=DROPPED, accept=".yaml,.yml,application/yaml", data_file=DROPPED,
                data_most=LARGEST_BYTES, class_="unseen")  # fmt: skip
    zone = h("label", h("span", _("Drop a service file here")), chooser, class_="drop", for_=DROPPED)
    pasted = h("textarea", id=PASTED, data_set=PASTED, rows="4", spellcheck="false", class_="mono",
               aria_describedby="file-wrong" if wrong else None)  # fmt: skip
    label = h("label", _("or paste its text"), for_=PASTED)
    use = controls.button(_("Open it in the form"), "open-file")
    error = h("span", wrong, class_="wrong", role="alert", id="file-wrong") if wrong else None
    return h("div", zone, h("div", label, pasted, class_="field"), use, error, class_="fields")
