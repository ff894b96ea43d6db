"""How many fit, as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from bide.i18n import _
from bide.physics.memory import Memory
from bide.report.memory_explain import explained_services
from bide.report.memory_text import (
    context_table,
    count,
    endnotes,
    figures,
    lever_table,
    lever_title,
    tenant_sentence,
    tenant_table,
)
from bide.web.page import controls
from bide.web.page.deployment_form import gpu_select, knobs, profile_note, split_and_formats
from bide.web.page.fit_answer import FitAnswer
from bide.web.page.markup import Child, h, notes, table, trouble, why
from bide.web.page.state import State


def form(state: State) -> Markup:
    """Everything but the model, which has a picker."""
    context = controls.text(state, "context", _("Tokens of each request"), hint=_("such as 2000, 8k or 128k"))
    mean = controls.text(
        state, "mean_tokens", _("Tokens on average"), hint=_("empty: every request is as long as that")
    )
    more = h("details", h("summary", _("More settings")), mean, knobs(state), class_="more", id="fit-more")
    return h("div", profile_note(state), gpu_select(state), split_and_formats(state), context, more, class_="fields")


def drop(state: State, key: str = "config") -> Markup:
    """Where a config.json is dropped, and what is in use."""
    chooser = h("input", type="file", id=f"{key}-file", accept=".json,application/json", data_file=key, class_="unseen")
    text = h("span", _("or drop a config.json here"))
    made: list[Child] = [h("label", text, chooser, class_="drop", for_=f"{key}-file")]
    if state[key]:
        used = _("In use: a config.json of yours.")
        made.append(
            h("p", used, " ", controls.button(_("Use the catalogue"), "forget", key, class_="link"), class_="hint")
        )
    if state.error(key):
        made.append(h("p", state.error(key), class_="wrong", role="alert"))
    return h("div", made)


def hero(shown: FitAnswer) -> Markup:
    """The answer: a number, and the sentence."""
    answer, memory = shown.answer, shown.answer.memory
    if not memory.fits:
        return h("div", h("p", answer.sentence(), class_="sentence"), trouble(answer.why_not()))
    tokens = answer.mean_tokens or answer.context_tokens
    requests = memory.replica_requests(tokens)
    reason = [
        *shown.why["requests"],
        _("Ranges: 5th to 95th percentile, from the spread of engines' start-up logs around this arithmetic"),
    ]
    number = h(
        "p",
        h("strong", count(requests.mid)),
        h("span", _("requests at once")),
        why("why-requests", reason, _("requests at once")),
        class_="number",
    )
    return h("div", number, h("p", answer.sentence(), class_="sentence"))


def cards(shown: FitAnswer) -> Markup:
    """Bytes of a token, of a request, of the weights, and the pool, each with its arithmetic."""
    answer = shown.answer
    sources = list(sources_of(answer.memory))
    made = [
        h(
            "div",
            h("dt", name, why(f"why-{key}", [*shown.why.get(key, ()), *sources], name) if shown.why else None),
            h("dd", text),
        )
        for key, (name, text) in zip(_WHY_OF_FIGURES, figures(answer.memory, answer.context_tokens), strict=False)
    ]
    return h("dl", made, class_="facts")


_WHY_OF_FIGURES = ("cache", "request", "weights", "pool")


def sources_of(memory: Memory) -> Iterator[str]:
    """Where the model's figures and the card's memory are from."""
    deployment = memory.deployment
    yield _("Source of the model: {source}").format(source=deployment.model.source)
    if deployment.gpu:
        yield _("Source of the card's memory: {source}").format(source=deployment.gpu.sources["usable"])


def contexts(shown: FitAnswer) -> Markup:
    """Requests at once at each context."""
    answer = shown.answer
    if not answer.memory.fits:
        return Markup("")
    headers, rows = context_table(answer.memory, answer.contexts, answer.mean_tokens)
    return h("div", h("h3", _("Requests at once")), table(headers, rows, _("Requests at once")))


def levers(shown: FitAnswer) -> Markup:
    """What would let more in, each as a switch. In a narrow window the note stands below the name."""
    asked = shown.asked
    headers, rows = lever_table(asked.memory, asked.levers, asked.context_tokens)
    ids = ["", *(lever.id for lever in asked.levers)]
    made = [_lever_row(shown, lever, row) for lever, row in zip(ids, rows, strict=True)]
    title = lever_title(asked.context_tokens)
    hint = h("p", _("Switch one on, or several: the answer and the charts follow."), class_="hint")
    marks = ["on" if lever in shown.on else "" for lever in ids]
    return h("div", h("h3", title), hint, table(headers, made, title, class_="noted levers", marks=marks))


def _lever_row(shown: FitAnswer, lever: str, row: Sequence[str]) -> list[Child]:
    name, *figures_of, note = row
    if lever == "paged":
        note = _("blocks are taken as tokens come: the mean length counts, not the longest")
        if not shown.asked.mean_tokens:
            note += _(" (half the context is an example: give yours under More settings)")
    control: Child = name
    if lever in shown.switchable:
        control = controls.switch("levers", name, lever in shown.on, value=lever, name=name)
    return [[control, h("span", note, class_="below hint") if note else None], *figures_of, note]


def services(state: State, shown: FitAnswer | None) -> Markup:
    """Services that share the GPUs: a row each to change, and what they need together."""
    rows = [_service_row(number, parts) for number, parts in enumerate(service_rows(state))]
    headers = [_("service"), _("tokens of a user"), _("users"), ""]
    add = controls.button(_("Add a service"), "add-service")
    error = h("p", state.error("services"), class_="wrong", role="alert") if state.error("services") else None
    made: list[Child] = [
        h("h3", _("Several services on the same GPUs")),
        table(headers, rows, _("Services"), class_="inputs"),
        add,
        error,
    ]
    if shown and shown.answer.needs and shown.answer.memory.fits:
        needs = shown.answer.needs
        said = tenant_sentence(shown.answer.memory, needs).replace("`bide plan`", _("How many GPUs"))
        reason = why("why-services", explained_services(needs, shown.answer.memory), _("so many GPUs"))
        made += [
            h("p", said, " ", reason, class_="sentence small"),
            table(*tenant_table(needs), _("What each service needs")),
        ]
    return h("div", made)


def service_rows(state: State) -> list[list[str]]:
    """Name, tokens and users of each, as texts; also of a row that cannot be used yet."""
    rows = [part.split(":") for part in state.text("services").split(",") if part]
    return [[*row, "", "", ""][:3] for row in rows]


def _service_row(number: int, parts: Sequence[str]) -> list[Child]:
    labels = (_("name"), _("tokens of a user"), _("users"))
    name = parts[0] or _("service {n}").format(n=number + 1)
    cells: list[Child] = [
        h("input", id=f"service-{number}-{place}", type="text", value=text, data_set=f"service.{number}.{place}",
          aria_label=f"{name}: {label}", autocomplete="off")
        for place, (text, label) in enumerate(zip(parts, labels, strict=True))
    ]  # fmt: skip
    gone = controls.button(
        "×", "drop-service", str(number), class_="shut-row", name=_("Remove {name}").format(name=name)
    )
    return [*cells, gone]


def endings(shown: FitAnswer) -> Markup:
    return notes(endnotes(shown.answer.memory, shown.answer.contexts), _("Notes, assumptions, sources"))
