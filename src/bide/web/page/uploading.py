"""Files of a visitor that the server keeps for an hour: where they are dropped, and what came of that."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from bide.errors import BadInput, BideError
from bide.i18n import _
from bide.units import format_bytes
from bide.web.page import controls
from bide.web.page.markup import Child, h
from bide.web.page.state import State

WHERE = "/api/v1/uploads"


def drop(key: str, text: str, hint: str, *, several: bool = False, wrong: str = "") -> Markup:
    """Where a file, or several, are dropped or chosen; each is sent to the server. `wrong`: what `uploaded` says."""
    chooser = h(
        "input",
        type="file",
        id=f"{key}-file",
        data_file=key,
        data_upload=WHERE,
        multiple=several,
        class_="unseen",
        aria_invalid="true" if wrong else None,
        aria_describedby=f"{key}-wrong" if wrong else f"{key}-file-hint",
    )
    zone = h("label", h("span", text), chooser, class_="drop", for_=f"{key}-file")
    return h("div", zone, h("span", hint, class_="hint", id=f"{key}-file-hint"), class_="field")


def uploaded(state: State, key: str, server: Any) -> Markup:
    """The files that were sent, each to be taken away; or what was wrong with one."""
    numbers = [number for number in state[key].split(",") if number]
    items = [_item(number, key, server) for number in numbers]
    error = h("p", state.error(key), class_="wrong", role="alert", id=f"{key}-wrong") if state.error(key) else None
    return h("div", h("ul", items, class_="files") if items else None, error)


def _item(number: str, key: str, server: Any) -> Markup:
    try:
        found = server.uploads.get(number)
        said: Child = [h("span", found.name), " ", h("span", format_bytes(found.size_bytes), class_="hint")]
        name = found.name
    except BideError as error:
        said, name = h("span", str(error), class_="wrong"), _("the file")
    gone = controls.button("×", f"drop-{key}", number, class_="shut-row", name=_("Remove {name}").format(name=name))
    return h("li", said, gone)


def take(state: State, key: str, name: str, answer: str, *, several: bool = False) -> None:
    """Keep the number of what was sent, beside those before where there may be several. Raises BadInput at `key`."""
    try:
        number = number_of(name, answer)
    except BadInput as error:
        raise BadInput(key, error.given, error.allowed, error.hint) from None
    before = state[key]
    state.set(key, f"{before},{number}" if several and before else number)


def put_away(state: State, what: str, value: str) -> bool:
    """Do what the buttons beside files ask for, and the one that ends the use of a profile; False for any other."""
    key = "profile" if what == "forget-profile" else what.removeprefix("drop-")
    if not what.startswith(("drop-", "forget-profile")) or key not in state.names():
        return False
    kept = [number for number in state[key].split(",") if number != value] if value else []
    state.set(key, ",".join(kept))
    return True


def number_of(name: str, answer: str) -> str:
    """The number of an upload, from what the server said to it. Raises BadInput with what it said instead."""
    try:
        said = json.loads(answer)
    except ValueError:
        said = {}
    if isinstance(said, dict) and isinstance(said.get("upload"), str):
        return str(said["upload"])
    fault = said.get("error", {}) if isinstance(said, dict) else {}
    allowed = str(fault.get("allowed") or fault.get("message") or _("a file that can be sent"))
    raise BadInput("file", name, allowed, "" if answer else _("nothing came back from the server: try again"))
