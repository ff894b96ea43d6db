"""What the controls of a plan's form are called: beside them, and in the errors that are about them."""

from __future__ import annotations

from bide.i18n import _
from bide.web.page.plan_fields import MOST_LIMITS, place_of, row
from bide.web.page.plan_limits import GOOD, PER_TOKEN


def label(key: str) -> str:
    """Of a control of any service."""
    name, _place = place_of(key)
    return _labels()[name]


def _labels() -> dict[str, str]:
    return {**_of_services(), **_of_limits(), **_of_workloads(), **_shared()}


def _of_services() -> dict[str, str]:
    return {
        "service": _("Name of the service"),
        "model": _("Model"),
        "config": _("Model"),
        "peak_rps": _("Requests a second at the peak"),
        "peak_from": _("The peak is"),
        "window": _("Busiest for, s"),
        "margin": _("Margin above that, a factor"),
        "growth": _("Growth until then, %"),
        "hours": _("How the day goes"),
        "users": _("Active users in a month"),
        "engine": _("Engine"),
        "plan_tp": _("Tensor parallel"),
        "plan_weights": _("Weights"),
        "plan_kv": _("KV cache"),
        "knobs": _("Other keys of the deployment"),
        "measured": _("Benchmarks of one replica"),
        "measured_awaited": _("Benchmarks of one replica"),
        "measured_gpu": _("Measured on"),
        "measured_as": _("Measured with these keys of the deployment"),
        "apart": _("Prefill and decode on replicas of their own"),
        "api_in": _("A million input tokens, USD"),
        "api_out": _("A million output tokens, USD"),
    }


def _of_limits() -> dict[str, str]:
    names = {"limit_on": _("until"), "percentile": _("for how many of 100"), "patience": _("At most")}
    return {
        **{row(name, number): text for name, text in names.items() for number in range(1, MOST_LIMITS + 1)},
        "goodput": _("Share of the requests, %"),
        **{key: f"{on.upper()}, {_('ms') if on in PER_TOKEN else _('s')}" for on, key in GOOD.items()},
    }


def _of_workloads() -> dict[str, str]:
    return {
        "work": _("Requests as"),
        "prompt_p50": _("Prompt, median"),
        "prompt_p95": _("Prompt, 95th percentile"),
        "output_p50": _("Answer, median"),
        "output_p95": _("Answer, 95th percentile"),
        "prompt_by": _("Prompt, other figures"),
        "output_by": _("Answer, other figures"),
        "sample": _("Sample"),
        "trace": _("Trace"),
        "trace_awaited": _("Trace"),
        "source": _("Where the requests are from"),
        "scale_prompt": _("Scaled to prompts of, mean"),
        "scale_output": _("Scaled to answers of, mean"),
    }


def _shared() -> dict[str, str]:
    return {
        "plan_gpus": _("GPUs"),
        "max_gpus": _("GPUs at most"),
        "prices": _("USD per GPU hour"),
        "price_factor": _("A factor on every price"),
        "price_note": _("What the factor is for"),
        "router": _("Router"),
        "spare": _("Spare replicas"),
        "rolling": _("Out of service during an update"),
        "scale_up": _("A new replica is ready after, s"),
        "share": _("Services of one model on one fleet"),
        "split": _("Other GPUs for short prompts than for long ones"),
        "profile": _("Step times"),
    }
