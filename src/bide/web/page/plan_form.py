"""How many GPUs: the form, in the five steps of the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from bide.facts.gpus import find_gpu
from bide.i18n import _, numeral
from bide.report.words import latency_name
from bide.web.page import controls
from bide.web.page.deployment_form import CACHE, WEIGHTS, gpu_groups, profile_note
from bide.web.page.markup import Child, h
from bide.web.page.plan_answer import LATENCIES, PER_TOKEN, PERCENTILES, SIZES
from bide.web.page.state import State
from bide.web.page.uploading import drop, uploaded
from bide.web.samples import samples

_SECONDS = ("0.25", "0.5", "1", "1.5", "2", "3", "4", "5", "6", "8", "10", "15", "20", "30", "60", "120")
_MILLISECONDS = ("10", "15", "20", "25", "30", "40", "50", "60", "75", "100", "150", "200", "300", "500")
_RATES = ("0.1", "0.2", "0.5", "1", "2", "3", "5", "7", "10", "15", "20", "30", "50", "70", "100", "200", "500", "1000")
_MARGINS = ("1", "1.1", "1.2", "1.3", "1.5", "1.75", "2", "2.5", "3", "4", "5")


def form(state: State, server: Any) -> Markup:
    """Patience, peak, workload, hardware, and the button."""
    return h(
        "div",
        profile_note(state),
        _step(1, _("How long do they wait?"), _patience(state)),
        _step(2, _("How many come?"), _traffic(state)),
        _step(3, _("What do they ask?"), _workload(state, server)),
        _step(4, _("On what may it run?"), _hardware(state)),
        h("div", controls.button(_("Plan"), "plan", class_="strong"), class_="row"),
        class_="fields",
    )


def _step(number: int, title: str, inner: Sequence[Child]) -> Markup:
    legend = h("legend", h("span", f"{number}", class_="ordinal"), " ", title)
    return h("fieldset", legend, h("div", inner, class_="fields"), class_="step")


def _patience(state: State) -> list[Child]:
    per_token = state["limit_on"] in PER_TOKEN
    steps, unit = (_MILLISECONDS, _("ms")) if per_token else (_SECONDS, _("s"))
    names = [(name, f"{name.upper()}: {latency_name(name)}") for name in LATENCIES]
    return [
        controls.slider(state, "patience", _("At most"), steps, f"{_number(state.text('patience'))} {unit}", unit=unit),
        controls.select(state, "limit_on", _("until"), names),
        controls.select(
            state, "percentile", _("for"), [(p, _("{n} of 100 requests").format(n=p)) for p in PERCENTILES]
        ),
    ]


def _traffic(state: State) -> list[Child]:
    rate, margin = state.text("peak_rps"), state.text("margin")
    return [
        controls.slider(state, "peak_rps", _("Requests a second at the peak"), _RATES, _number(rate)),
        controls.slider(state, "margin", _("Margin above that, a factor"), _MARGINS, _number(margin)),
    ]


def _number(text: str) -> str:
    return numeral(float(text), ",g") if text.replace(".", "", 1).isdigit() else text


def _workload(state: State, server: Any) -> list[Child]:
    kinds = [
        ("lengths", _("lengths by percentiles")),
        ("sample", _("a recorded sample")),
        ("trace", _("a trace of mine")),
    ]
    chosen = controls.select(state, "work", _("Requests as"), kinds)
    if state["work"] == "sample":
        return [chosen, *_sample(state)]
    if state["work"] == "trace":
        return [chosen, *_trace(state, server)]
    return [chosen, _lengths(state)]


def _sample(state: State) -> list[Child]:
    known = {each.name: each for each in samples()}
    options = [(name, name) for name in known]
    about = known[state["sample"]]
    return [
        controls.select(state, "sample", _("Sample"), options),
        h("p", f"{about.what}. {about.source}. {about.licence}.", class_="hint"),
    ]


def _trace(state: State, server: Any) -> list[Child]:
    hint = _("Azure, Mooncake, ShareGPT, vLLM and BurstGPT forms, CSV, JSON lines; at most {n:,} MiB").format(
        n=server.settings.limits.upload_bytes // 2**20
    )
    return [
        drop("trace", _("Drop a trace here"), hint),
        uploaded(state, "trace", server),
    ]


def _lengths(state: State) -> Markup:
    return h(
        "div",
        controls.text(state, "prompt_p50", _("Prompt, median"), inputmode="numeric"),
        controls.text(state, "prompt_p95", _("Prompt, 95th percentile"), inputmode="numeric"),
        controls.text(state, "output_p50", _("Answer, median"), inputmode="numeric"),
        controls.text(state, "output_p95", _("Answer, 95th percentile"), inputmode="numeric"),
        class_="pairs",
    )


def _hardware(state: State) -> list[Child]:
    more = h(
        "details",
        h("summary", _("More settings")),
        _boxes(state, "plan_tp", _("Tensor parallel"), SIZES),
        _boxes(state, "plan_weights", _("Weights"), WEIGHTS),
        _boxes(state, "plan_kv", _("KV cache"), CACHE),
        h(
            "p",
            _("Several: the plan tries each. None: as the checkpoint has it, and every size that fits."),
            class_="hint",
        ),
        controls.select(
            state, "engine", _("Engine"), [("vllm", "vLLM"), ("sglang", "SGLang"), ("trtllm", "TensorRT-LLM")]
        ),
        controls.text(state, "max_gpus", _("GPUs at most"), inputmode="numeric"),
        controls.text(state, "service", _("Name of the service")),
        controls.text(
            state, "spare", _("Spare replicas"), hint=_("against failures and during updates"), inputmode="numeric"
        ),
        class_="more",
        id="plan-more",
    )
    return [_gpus(state), more]


def _gpus(state: State) -> Markup:
    chosen = state["plan_gpus"].split(",")
    chips = [_chip(gpu, len(chosen) > 1) for gpu in chosen]
    add = [h("option", _("Add a GPU"), value="")]
    add += [
        h("optgroup", [h("option", name, value=gpu) for gpu, name in options if gpu not in chosen], label=vendor)
        for vendor, options in gpu_groups().items()
    ]
    more = h("select", add, id="plan-add-gpu", data_set="add-gpu", aria_label=_("Add a GPU"))
    error = state.error("plan_gpus")
    wrong = h("span", error, class_="wrong", role="alert") if error else None
    return h("div", h("span", _("GPUs"), class_="label"), h("ul", chips, class_="chips"), more, wrong, class_="field")


def _chip(gpu: str, removable: bool) -> Markup:
    name = find_gpu(gpu).name.removeprefix("NVIDIA ")
    gone = controls.button("×", "drop-gpu", gpu, class_="shut-row", name=_("Remove {name}").format(name=name))
    return h("li", h("span", name), gone if removable else None)


def _boxes(state: State, key: str, label: str, values: Sequence[str]) -> Markup:
    """Several of a few."""
    on = state[key].split(",")
    made = [
        h(
            "label",
            h("input", type="checkbox", id=f"{key}-{value}", checked=value in on, data_set=key, data_value=value),
            h("span", value),
            class_="box-of",
        )
        for value in values
    ]
    error = state.error(key)
    wrong = h("span", error, class_="wrong", role="alert") if error else None
    return h(
        "fieldset", h("legend", label, class_="label"), h("div", made, class_="boxes"), wrong, class_="field plain-set"
    )


def ticked(values: str, change: str) -> str:
    """Comma-separated values after one was ticked (`+fp8`) or no more (`-fp8`)."""
    sign, value = change[:1], change[1:]
    kept = [one for one in values.split(",") if one and one != value]
    return ",".join([*kept, value] if sign == "+" else kept)
