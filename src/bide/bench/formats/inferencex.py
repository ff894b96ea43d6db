"""Rows of InferenceX (SemiAnalysis): latencies in seconds, lengths nominal (drawn between 0.8 and 1.0 of it).

Its result files say `tp`, `ep` and `spec_decoding`; rows of its web page `decode_tp`, `decode_ep`, `spec_method`,
`disagg`, and tokens a second of each GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bide.bench.formats.faults import apart, warnings_of_counts
from bide.bench.formats.numbers import mapping, named_figures, positive, words
from bide.bench.formats.values import Asked, Fault, Figures, Metric, Run
from bide.i18n import _

TOOL = "InferenceX"
_NAMES: Mapping[Metric, tuple[str, ...]] = {
    "ttft": ("ttft",),
    "tpot": ("tpot",),
    "itl": ("itl", "intvty_itl"),
    "e2e": ("e2el", "e2e"),
}
_NOMINAL_MEAN = 0.9
"""Lengths are uniform in 0.8 to 1.0 of what the row says."""
_PROMPTS_A_CLIENT = 10
_FRAMEWORKS = {"vllm": "vllm", "sglang": "sglang", "trt": "trtllm", "trtllm": "trtllm", "tensorrt-llm": "trtllm"}


def is_inferencex(found: Mapping[str, Any]) -> bool:
    return {"isl", "osl", "conc"} <= found.keys() and ("hardware" in found or "hw" in found)


def inferencex_run(found: Mapping[str, Any], source: str) -> Run:
    """One row."""
    said = {**found, **mapping(found.get("metrics"))}
    clients = positive(found.get("conc"))
    load = Asked("concurrency", clients) if clients else Asked("unknown")
    latency = {metric: made for metric, names in _NAMES.items() if (made := _figures(said, names))}
    text = _("lengths are drawn between 0.8 and 1.0 of those in the row: 0.9 of them was taken")
    faults = [Fault("nominal_lengths", text)]
    faults.append(
        Fault("itl_of_chunks", _("its time between tokens is between chunks: not used"), "distrust", ("itl",))
    )
    if _is_said(found, "spec_decoding") or _is_said(found, "spec_method"):
        faults.append(Fault("speculative", _("the row is with speculative decoding: say --speculative-tokens")))
    if _is_said(found, "disagg"):
        faults.append(apart())
    completed = int(clients * _PROMPTS_A_CLIENT) if clients else None
    faults += warnings_of_counts(completed, None, None, load)
    prompt, output = (positive(found.get(name)) for name in ("isl", "osl"))
    return Run(
        source,
        TOOL,
        load,
        completed=completed,
        prompt_tokens=prompt * _NOMINAL_MEAN if prompt else None,
        output_tokens=output * _NOMINAL_MEAN if output else None,
        requests_per_s=None,
        output_tokens_per_s=_output_per_s(said),
        latency=latency,
        deployment=_stated(found),
        date=words(found.get("date")) or "",
        faults=tuple(faults),
    )


def _is_said(found: Mapping[str, Any], name: str) -> bool:
    return str(found.get(name, "none")).lower() not in ("none", "false", "", "no")


def _output_per_s(said: Mapping[str, Any]) -> float | None:
    """Of the whole deployment, or of each of its GPUs."""
    whole, each = positive(said.get("output_throughput")), positive(said.get("output_tput_per_gpu"))
    gpus = positive(said.get("num_decode_gpu")) or positive(said.get("tp"))
    return whole or (each * gpus if each and gpus else None)


def _figures(said: Mapping[str, Any], names: tuple[str, ...]) -> Figures | None:
    """Of the first of `names` that is there."""
    found = (named_figures(said, f"_{name}", 1.0) for name in names)
    return next((each for each in found if each is not None), None)


def _stated(found: Mapping[str, Any]) -> dict[str, Any]:
    framework = str(found.get("framework", "")).lower()
    precision = str(found.get("precision", "")).lower()
    stated = {
        "gpu": found.get("hardware") or found.get("hw"),
        "model": found.get("model"),
        "engine": _FRAMEWORKS.get(framework),
        "tp": found.get("tp", found.get("decode_tp")),
        "ep": found.get("ep", found.get("decode_ep")),
        "weights": precision if precision in ("fp8", "bf16", "nvfp4", "mxfp4") else None,
    }
    return {key: value for key, value in stated.items() if value not in (None, "")}
