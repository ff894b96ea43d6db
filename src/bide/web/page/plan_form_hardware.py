"""The fourth step of a plan's form: GPUs, and folds for how replicas are run, for prices, and for what stands by."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from bide.facts.gpus import find_gpu
from bide.i18n import _
from bide.plan.cost import price_of
from bide.simulate.fleet.rules import ROUTERS
from bide.web.page import controls
from bide.web.page.deployment_form import gpu_groups
from bide.web.page.markup import Child, h
from bide.web.page.plan_checks import priced
from bide.web.page.plan_fields import CACHES, FORMATS, SIZES, places
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


def hardware(inputs: Inputs, folds: Folds) -> Iterator[Child]:
    """GPUs first; the rest in folds, of which the first and the prices of an API are of the service that is shown."""
    yield _gpus(inputs.state)
    yield inputs.text("max_gpus", inputmode="numeric")
    several = len(places(inputs.state.frozen())) > 1
    how = _("Precision, size and engine")
    named = _("{what} of {service}").format(what=how, service=inputs["service"]) if several else how
    yield folds.fold(inputs, "replica", named, _OF_REPLICA, list(_replica(inputs)))
    yield folds.fold(inputs, "prices", _("Prices"), _OF_PRICES, list(_prices(inputs)))
    yield folds.fold(inputs, "fleet", _("Spare replicas and routing"), _OF_FLEET, list(_fleet(inputs, several)))


def _gpus(state: State) -> Markup:
    chosen = state["plan_gpus"].split(",")
    chips = [_chip(gpu, len(chosen) > 1) for gpu in chosen]
    add = [h("option", _("Add a GPU"), value="")]
    add += [
        h("optgroup", [h("option", name, value=gpu) for gpu, name in options if gpu not in chosen], label=vendor)
        for vendor, options in gpu_groups().items()
    ]
    more = h("select", add, id="plan_gpus", data_set="add-gpu", aria_label=_("Add a GPU"))
    error = state.error("plan_gpus")
    wrong = h("span", error, class_="wrong", role="alert") if error else None
    title = h("span", label("plan_gpus"), class_="label")
    return h("div", title, h("ul", chips, class_="chips"), more, wrong, class_="field")


def _chip(gpu: str, removable: bool) -> Markup:
    name = _name(gpu)
    gone = controls.button("×", "drop-gpu", gpu, class_="shut-row", name=_("Remove {name}").format(name=name))
    return h("li", h("span", name), gone if removable else None)


def _name(gpu: str) -> str:
    return find_gpu(gpu).name.removeprefix("NVIDIA ")


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
    return h("div", h("label", _name(gpu), for_=f"{PRICE}{gpu}"), line, class_="field")


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
