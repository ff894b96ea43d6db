"""The fourth step of a plan's form: GPUs, and folds for how replicas are run, for prices, and for what stands by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from bide.facts.gpus import find_gpu
from bide.i18n import _
from bide.plan.cost import price_of
from bide.simulate.fleet.rules import ROUTERS
from bide.web.page.gpu_chips import gpu_chips, gpu_name
from bide.web.page.markup import Child, h
from bide.web.page.plan_checks import priced
from bide.web.page.plan_fields import CACHES, FORMATS, SIZES, places
from bide.web.page.plan_form_files import OF_BENCHMARKS, benchmarks
from bide.web.page.plan_form_parts import Folds, Inputs, pairs
from bide.web.page.plan_labels import label
from bide.web.page.state import State

_ENGINES = (("vllm", "vLLM"), ("sglang", "SGLang"), ("trtllm", "TensorRT-LLM"))
_OF_REPLICA = ("plan_weights", "plan_kv", "plan_tp", "engine", "knobs", "apart")
_OF_PRICES = ("prices", "price_factor", "price_note", "api_in", "api_out")
_OF_FLEET = ("spare", "rolling", "router", "share", "split")
"""The inputs of each fold."""
PRICE = "price."
"""How the price of one GPU is called by its control."""


def hardware(inputs: Inputs, folds: Folds, server: Any) -> Iterator[Child]:
    """GPUs first; the rest in folds. The first two and the prices of an API are of the service that is shown."""
    yield gpu_chips(inputs.state, "plan_gpus")
    yield inputs.text("max_gpus", inputmode="numeric")
    several = len(places(inputs.state.frozen())) > 1
    of_service = _("{what} of {service}") if several else "{what}"
    for name, what, keys, inner in (
        ("replica", _("Precision, size and engine"), _OF_REPLICA, _replica(inputs)),
        ("measured", _("Benchmarks instead of a simulation"), OF_BENCHMARKS, benchmarks(inputs, server)),
    ):
        yield folds.fold(inputs, name, of_service.format(what=what, service=inputs["service"]), keys, list(inner))
    yield folds.fold(inputs, "prices", _("Prices"), _OF_PRICES, list(_prices(inputs)))
    yield folds.fold(inputs, "fleet", _("Spare replicas and routing"), _OF_FLEET, list(_fleet(inputs, several)))


def _replica(inputs: Inputs) -> Iterator[Child]:
    yield inputs.boxes("plan_weights", FORMATS)
    yield inputs.boxes("plan_kv", CACHES)
    yield inputs.boxes("plan_tp", SIZES)
    yield h(
        "p",
        _("Several: the plan tries each. None: as the checkpoint has it (auto), and every size that fits."),
        class_="hint",
    )
    yield inputs.select("engine", _ENGINES)
    which = [("", _("no: each replica does both")), ("yes", _("yes")), ("either", _("whichever is cheaper"))]
    yield inputs.select("apart", which)
    hint = _("as in a service file; of a list the plan picks one")
    yield inputs.text("knobs", hint=hint, placeholder="max_num_seqs: [64, 256]")


def _prices(inputs: Inputs) -> Iterator[Child]:
    yield _gpu_prices(inputs.state)
    yield pairs(
        inputs.text("price_factor", placeholder="1", inputmode="decimal"),
        inputs.text("price_note", placeholder=_("3 years reserved")),
    )
    yield h("p", _("What a hosted API asks: the plan says from which load on owning is cheaper."), class_="hint")
    yield pairs(inputs.text("api_in", inputmode="decimal"), inputs.text("api_out", inputmode="decimal"))


def _gpu_prices(state: State) -> Markup:
    """A price for each GPU that is allowed; empty: the catalogue's."""
    given, error = priced(state.text("prices")), state.error("prices")
    made = [_gpu_price(gpu, given.get(gpu, ""), bool(error)) for gpu in state["plan_gpus"].split(",")]
    below = (
        h("span", error, class_="wrong", role="alert", id="prices-wrong")
        if error
        else h("span", _("empty: the lowest of a named provider"), class_="hint")
    )
    title = h("legend", label("prices"), class_="label")
    return h(
        "fieldset", title, h("div", made, class_="pairs"), below, class_="field plain-set", id="prices", tabindex="-1"
    )


def _gpu_price(gpu: str, now: str, wrong: bool) -> Markup:
    about = {"aria_invalid": "true", "aria_describedby": "prices-wrong"} if wrong else {}
    line = h("input", type="text", id=f"{PRICE}{gpu}", value=now, data_set=f"{PRICE}{gpu}", inputmode="decimal",
             autocomplete="off", placeholder=_list_price(gpu), **about)  # fmt: skip
    return h("div", h("label", gpu_name(gpu), for_=f"{PRICE}{gpu}"), line, class_="field")


def _list_price(gpu: str) -> str:
    """What the plan takes where nothing is given."""
    found = price_of(find_gpu(gpu), {})
    return f"{found.usd_per_hour:g}" if found else ""


def _fleet(inputs: Inputs, several: bool) -> Iterator[Child]:
    hint = _("to stand by for failures (N + 1)")
    yield pairs(
        inputs.text("spare", hint=hint, inputmode="numeric"),
        inputs.text("rolling", hint=_("so many at once"), inputmode="numeric"),
    )
    yield inputs.select("router", [(name, name) for name in ROUTERS])
    tried = [("", _("tried, and taken where it is cheaper")), ("no", _("not tried"))]
    if several or inputs["share"]:
        yield inputs.select("share", tried)
    yield inputs.select("split", tried)
