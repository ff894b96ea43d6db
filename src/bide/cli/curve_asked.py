"""What `bide curve` was asked: its deployments (the product of what is varied), mixes and loads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import click

from bide.cli.options import deployment_params
from bide.errors import BadInput, UnknownName
from bide.facts.deployment import Deployment
from bide.facts.layout import timed_deployment
from bide.i18n import _
from bide.simulate.curve_lines import checked_load, checked_tokens
from bide.simulate.operating import Load, LoadKind, Mix
from bide.sourced import Assumption

_MOST_CURVES = 16
_PROMPT_TOKENS, _OUTPUT_TOKENS = "1000", "500"
"""Of a request, where nobody says."""
_LOADS: dict[str, LoadKind] = {"concurrency": "concurrency", "rate": "requests_per_s", "batch_size": "batch"}


@dataclass(frozen=True, slots=True)
class Asked:
    """`loads` are the same for each curve; None: clients up to what the memory holds."""

    curves: tuple[tuple[Deployment, Mix], ...]
    loads: tuple[Load, ...] | None
    assumptions: tuple[Assumption, ...]


def asked_curves(
    model: str | None,
    deployment: Mapping[str, Any],
    *,
    prompt: Sequence[str],
    output: Sequence[str],
    mix: Sequence[str],
    vary: Sequence[str],
    **loads: str | None,
) -> Asked:
    """Everything checked. Raises BadInput for the first thing that is wrong, also for too many curves."""
    raws = list(_deployments(model, deployment, vary))
    lengths, assumptions = _mixes(prompt, output, mix)
    number = len(raws) * len(lengths)
    if number > _MOST_CURVES:
        allowed = _("at most {most} curves on one chart").format(most=_MOST_CURVES)
        raise BadInput("vary", _("{n} curves").format(n=number), allowed)
    found_loads = _loads(loads)
    deployments = [timed_deployment(raw) for raw in raws]
    curves = tuple((one, each) for one in deployments for each in lengths)
    return Asked(curves, found_loads, assumptions)


def _deployments(model: str | None, deployment: Mapping[str, Any], vary: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The product of the GPUs and of what is varied."""
    base = {"model": model, **deployment}
    axes = _axes(vary, base)
    if "gpu" in base:
        axes = {"gpu": _each_once(base["gpu"]), **axes}
    if base["model"] is None and "model" not in axes:
        raise BadInput("model", None, _("a catalogue name (`bide models`), a config.json, a directory or an id"))
    for values in product(*axes.values()):
        yield {**base, **dict(zip(axes, values, strict=True))}


def _axes(vary: Sequence[str], base: Mapping[str, Any]) -> dict[str, list[Any]]:
    """What is varied; raises BadInput for a flag that is also given by itself, or varied twice."""
    axes: dict[str, list[Any]] = {}
    for text in vary:
        key, values = _axis(text)
        if key in axes or base.get(key) is not None:
            allowed = _("each flag once: its values by itself or in one --vary")
            raise BadInput("vary", key, allowed, _("--gpu may be repeated instead") if key == "gpu" else "")
        axes[key] = values
    return axes


def _each_once(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _axis(text: str) -> tuple[str, list[Any]]:
    """`tp=1,2` as the key and its values, read as the flag reads them."""
    flag, equals, values = text.partition("=")
    key = flag.strip().lstrip("-").replace("-", "_")
    params = deployment_params()
    if not equals or not all(value.strip() for value in values.split(",")):
        raise BadInput("vary", text, _("a flag and its values, such as tp=1,2,4"))
    if key != "model" and key not in params:
        allowed = _("a deployment flag: {names}").format(names=", ".join(["model", *params]))
        raise UnknownName("vary", key, ["model", *params], allowed)
    return key, _each_once(_value(key, value.strip(), params) for value in values.split(","))


def _value(key: str, text: str, params: Mapping[str, click.Parameter]) -> Any:
    if key == "model":
        return text
    try:
        return params[key].type.convert(text, params[key], None)
    except click.BadParameter as error:
        raise BadInput(key, text, _("what --{flag} takes").format(flag=key.replace("_", "-")), error.message) from error


def _mixes(
    prompts: Sequence[str], outputs: Sequence[str], mixes: Sequence[str]
) -> tuple[list[Mix], tuple[Assumption, ...]]:
    """The mixes in the order of the flags, each once, and what was assumed where none was given."""
    found = [_pair(text) for text in mixes]
    assumptions: list[Assumption] = []
    if not found or prompts or outputs:
        why = _("not given: an example")
        if not prompts:
            assumptions.append(Assumption("prompt", _PROMPT_TOKENS, why))
        if not outputs:
            assumptions.append(Assumption("output", _OUTPUT_TOKENS, why))
        pairs = _paired(prompts or [_PROMPT_TOKENS], outputs or [_OUTPUT_TOKENS])
        found = [Mix(checked_tokens(p, "prompt"), checked_tokens(o, "output")) for p, o in pairs] + found
    return list(dict.fromkeys(found)), tuple(assumptions)


def _paired(prompts: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, str]]:
    """Prompt with output, one by one; a single one goes with all of the others."""
    number = max(len(prompts), len(outputs))
    if {len(prompts), len(outputs)} - {1, number}:
        allowed = _("as many as --prompt ({n}), or one for all").format(n=len(prompts))
        raise BadInput("output", list(outputs), allowed)
    every = [list(given) * (number // len(given)) for given in (prompts, outputs)]
    return list(zip(*every, strict=True))


def _pair(text: str) -> Mix:
    prompt, colon, output = text.partition(":")
    if not colon:
        raise BadInput("mix", text, _("prompt and output tokens, such as 1000:500 or 8k:300"))
    return Mix(checked_tokens(prompt, "mix"), checked_tokens(output, "mix"))


def _loads(given: Mapping[str, str | None]) -> tuple[Load, ...] | None:
    """The loads, rising, each once."""
    texts = {name: text for name, text in given.items() if text is not None}
    if len(texts) > 1:
        first, second, *_others = texts
        flags = {name: "--" + name.replace("_", "-") for name in _LOADS}
        allowed = _("one kind of load: {first} is given too").format(first=flags[first])
        raise BadInput(second, texts[second], allowed)
    for name, text in texts.items():
        found = {checked_load(_LOADS[name], part.strip(), name) for part in text.split(",")}
        return tuple(sorted(found, key=lambda load: load.value))
    return None
