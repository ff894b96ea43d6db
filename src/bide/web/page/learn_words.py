"""The words that the other tabs take for granted, in the order in which one needs another."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from bide.i18n import _
from bide.web.page.markup import h


def words() -> Markup:
    """A list of words and what they mean."""
    made = [h("div", h("dt", word), h("dd", meaning)) for word, meaning in _words()]
    return h("div", h("h2", _("Words")), h("dl", made, class_="words"), class_="vocabulary")


def _words() -> Iterator[tuple[str, str]]:
    yield from _of_requests()
    yield from _of_memory()
    yield from _of_time()


def _of_requests() -> Iterator[tuple[str, str]]:
    yield _("Token"), _("A word or a part of one, in English about four characters: what a model reads and writes.")
    yield (
        _("Prompt, answer, context"),
        _("What a request brings, what the model writes in return, and the tokens of both so far."),
    )
    yield (
        _("Replica"),
        _("One running copy of a model, on one GPU or on several that divide its weights (tensor parallel, TP)."),
    )


def _of_memory() -> Iterator[tuple[str, str]]:
    yield (
        _("Weights"),
        _("The numbers that a model was trained to: 8 billion of 2 bytes are 16 GB, on the card once for everybody."),
    )
    yield (
        "bf16, fp8, int4",
        _("Numbers of 16, 8 and 4 bits. Fewer bits take less room and are read sooner, and may change the answers."),
    )
    yield (
        _("KV cache"),
        _("What a model keeps of every token of a request, so that it need not compute it again for the next one."),
    )
    yield _("Pool"), _("The room on a card for that cache, once the weights and the engine have theirs.")


def _of_time() -> Iterator[tuple[str, str]]:
    yield (
        _("Step, batch"),
        _("An engine works in steps: each gives every running request, which together are the batch, its next token."),
    )
    yield (
        _("Prefill, decode"),
        _("Computing a prompt, many tokens in a step; then writing the answer, one token in a step."),
    )
    yield "TTFT, TPOT, E2E", _("The time to the first token, for each token after it, and to the last one.")
    yield "p95", _("The time that 95 of 100 requests stay within.")
    yield (
        _("What binds"),
        _("What most of a token's time goes into: reading weights or cache, computing, others' prompts, the network."),
    )
    yield _("Knee"), _("The load from which on one more client costs more waiting than it brings tokens.")
    yield _("Goodput"), _("The share of requests that keep every limit which was set.")
