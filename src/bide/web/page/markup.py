"""HTML from plain values: every text escaped, every attribute quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from markupsafe import Markup

from bide.i18n import _

Child = str | Markup | None | Iterable["Child"]
_RATE = re.compile(r"(?<![\w-])[^\W\d_]+/[^\W\d_]{1,5}(?![\w-])")
_VOID = frozenset({"input", "br", "col", "hr", "img"})


def h(tag: str, *children: Child, **attributes: object) -> Markup:
    """An element. `class_`, `data_set` become `class`, `data-set`; None and False are left out, True is bare.

    >>> h("p", "a < b", class_="note")
    Markup('<p class="note">a &lt; b</p>')
    """
    opening = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Markup(f"<{tag}{opening}>")
    return Markup(f"<{tag}{opening}>{_inner(children)}</{tag}>")


def _inner(children: Iterable[Child]) -> str:
    """One after the other; texts escaped, lists opened, None left out."""
    return "".join([_child(child) for child in children if child is not None])


def _child(child: Child) -> str:
    if isinstance(child, Markup):
        return child[:]
    if isinstance(child, str):
        return escape(child)
    return _inner(child or ())


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    return f" {shown}" if value is True else f' {shown}="{escape(str(value))}"'


def unbroken(text: str) -> Markup:
    """A sentence whose rates (`tokens/s`) are not broken behind their slash."""
    return Markup(_RATE.sub(r'<span class="unbroken">\g<0></span>', escape(text)))


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Child]],
    caption: str,
    *,
    class_: str = "",
    marks: Sequence[str] = (),
    hidden_caption: bool = True,
) -> Markup:
    """A table whose first cells name their rows. `marks`: a class for each row."""
    head = h("tr", [h("th" if header else "td", header, scope="col" if header else None) for header in headers])
    body = [
        h("tr", h("th", row[0], scope="row"), [h("td", cell) for cell in row[1:]], class_=_mark(marks, number))
        for number, row in enumerate(rows)
    ]
    title = h("caption", caption, class_="unseen" if hidden_caption else None)
    made = h("table", title, h("thead", head), h("tbody", body), class_=class_ or None)
    return h("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _mark(marks: Sequence[str], number: int) -> str | None:
    return (marks[number] or None) if number < len(marks) else None


def why(key: str, lines: Iterable[str], about: str) -> Markup:
    """A "why?" that opens the arithmetic and the sources of a figure. `key` is unique on the page."""
    body = [h("p", line.strip(), class_=f"in-{min(2, (len(line) - len(line.lstrip())) // 2)}") for line in lines]
    if not body:
        return Markup("")
    name = _("Why {figure}?").format(figure=about)
    shut = h("button", "×", type="button", class_="shut", popovertarget=key, popovertargetaction="hide",
             aria_label=_("Close"))  # fmt: skip
    opened = h(
        "div", h("h4", name), shut, body, id=key, popover="auto", class_="why-text", role="dialog", aria_label=name
    )
    return h("button", _("why?"), type="button", class_="why", popovertarget=key, aria_label=name) + opened


def notes(lines: Iterable[str], title: str) -> Markup:
    """Notes, assumptions and sources under an answer, closed at first."""
    listed = h("ul", [h("li", line) for line in lines])
    return h("details", h("summary", title), listed, class_="notes", id=f"notes-{abs(hash(title)) % 10**6}")


def trouble(message: str) -> Markup:
    """An answer that is a refusal."""
    return h("p", message, class_="trouble", role="alert")
