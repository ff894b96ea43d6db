"""The lesson: two ideas in a page, with examples that move."""

from __future__ import annotations

from markupsafe import Markup

from bide.i18n import _, ngettext, numeral
from bide.report.memory_explain import explained_parts
from bide.report.memory_text import count
from bide.report.words import rate, seconds
from bide.units import format_bytes, parse_tokens
from bide.web.page import controls
from bide.web.page.fast_view import arithmetic
from bide.web.page.fit_view import sources_of
from bide.web.page.learn_answer import CONTEXTS, GPU, MODEL, PATIENCE_MS, PEAKS, LearnAnswer
from bide.web.page.markup import h, why
from bide.web.page.state import State


def opening() -> Markup:
    text = _(
        "How many GPUs a model needs comes down to two questions: how many requests fit on a card at the same time, "
        "and how long people are willing to wait. The first is arithmetic. The second is a decision."
    )
    return h("div", h("h2", _("Two ideas, and the rest follows")), h("p", text, class_="lead"))


def memory_lesson() -> Markup:
    """The first idea."""
    return _prose(
        _("Memory decides how many fit"),
        _(
            "To write its next token a model looks back at every token before it. What it has to remember of them "
            "stays on the card: the KV cache. Each token adds the same number of bytes, so a request that is twice as "
            "long takes twice the room."
        ),
        _(
            "The weights lie there once, for everybody. What they and the engine leave free is shared by the requests "
            "that run at the same time. So how many fit is a division: the room "
            "that is left, by the room of one request."
        ),
        _(
            "Only a few things move it: shorter requests, fewer bytes for a token (an fp8 cache, or a model that keeps "
            "less), more room on the card, or more cards. Speed is not among them."
        ),
    )


def memory_controls(state: State) -> Markup:
    now = parse_tokens(state["learn_context"])
    shown = ngettext("{n:,} token", "{n:,} tokens", now).format(n=now)
    length = controls.slider(state, "learn_context", _("Tokens of each request"), CONTEXTS, shown)
    cache = controls.switch(
        "learn_cache", _("fp8 cache"), state["learn_cache"] == "fp8", value="fp8", name=_("fp8 cache")
    )
    return h("div", length, cache, class_="fields")


def memory_words(shown: LearnAnswer) -> Markup:
    """The division, in figures."""
    answer = shown.memory
    memory, tokens = answer.memory, answer.context_tokens
    text = _("{pool} are left on the card, a request of {tokens:,} tokens takes {each}: {n} fit.").format(
        pool=format_bytes(memory.pool_bytes.mid),
        tokens=tokens,
        each=format_bytes(memory.pool.request_bytes(tokens)),
        n=count(memory.replica_requests(tokens).mid),
    )
    parts = explained_parts(memory, tokens)
    about = _("{model} on one {gpu}").format(model=MODEL, gpu=GPU)
    lines = [line for part in ("cache", "pool", "request", "requests") for line in parts[part]]
    lines += sources_of(memory)
    return h(
        "div", h("p", text, " ", why("why-learn-memory", lines, about), class_="sentence"), h("p", about, class_="hint")
    )


def patience_lesson() -> Markup:
    """The second idea."""
    return _prose(
        _("Patience decides how many GPUs"),
        _(
            "A GPU that serves one request reads all the weights to write a single token. With 32 requests it reads "
            "them once and writes 32. So the more requests share a card, the more work it does for the same money, and "
            "the longer each of them waits for its next token."
        ),
        _(
            "How long is too long is not a technical question. It is a decision about people: those who read along, "
            "those who wait for a whole answer, a job that runs over night. Once it is made, the rest follows: how "
            "many requests a card may take before it gets too slow, and how many such cards the traffic fills."
        ),
        _(
            "A little more patience often saves many cards. Beyond some point it saves none: then memory is full, and "
            "waiting only makes a queue."
        ),
    )


def patience_controls(state: State) -> Markup:
    shown = _("{ms} milliseconds").format(ms=state["learn_patience"])
    return h(
        "div",
        controls.slider(state, "learn_patience", _("A token at the latest every, ms"), PATIENCE_MS, shown),
        controls.slider(state, "learn_peak", _("Requests a second"), PEAKS, state["learn_peak"]),
        class_="fields",
    )


def patience_words(shown: LearnAnswer) -> Markup:
    """What the patience that was set asks for."""
    about = _("{model} on {gpu}, prompts of {prompt:,.0f} and answers of {output:,.0f} tokens; steady traffic").format(
        model=MODEL, gpu=GPU, prompt=shown.curve.mix.prompt_tokens, output=shown.curve.mix.output_tokens
    )
    fleet = shown.fleet
    if fleet is None:
        text = _("Nobody can be that impatient with this card: a single request takes longer for a token.")
        return h("div", h("p", text, class_="sentence"), h("p", about, class_="hint"))
    text = _(
        "Within {tpot} a card keeps {n} requests going, {rate} a second. {peak} a second need {gpus} GPUs."
    ).format(
        tpot=seconds(fleet.tpot_s),
        n=numeral(round(fleet.point.running_requests), ","),
        rate=rate(fleet.point.requests_per_s),
        peak=rate(shown.peak_rps),
        gpus=fleet.gpus,
    )
    lines = list(arithmetic(shown.curve, fleet.point))
    lines.append(_("{peak} requests/s / {rate} requests/s, rounded up: {gpus} GPUs").format(
        peak=rate(shown.peak_rps), rate=rate(fleet.point.requests_per_s), gpus=fleet.gpus))  # fmt: skip
    lines.append(_("Source of the step times: {source}").format(source=shown.curve.step_source))
    reason = why("why-learn-patience", lines, _("{gpus} GPUs").format(gpus=fleet.gpus))
    return h("div", h("p", text, " ", reason, class_="sentence"), h("p", about, class_="hint"))


def closing() -> Markup:
    """On to the reader's own numbers."""
    text = _(
        "Both examples are steady averages. Real traffic comes in bursts and lengths vary, so a plan also asks for "
        "percentiles, plays the traffic through, and says how sure it is."
    )
    made = [
        controls.button(_("How many fit on my card?"), "go", "fit", class_="strong"),
        controls.button(_("How fast is it?"), "go", "fast"),
        controls.button(_("How many GPUs do I need?"), "go", "plan"),
    ]
    return h("div", h("p", text, class_="lead"), h("div", made, class_="row spaced"))


def _prose(title: str, *paragraphs: str) -> Markup:
    return h("div", h("h2", title), [h("p", text) for text in paragraphs], class_="prose")
