"""What tells the curves of one chart apart, as a short name each."""

from __future__ import annotations

from collections.abc import Sequence

from bide.facts.deployment import FORMAT_KEYS, KNOBS, Deployment
from bide.i18n import _, ngettext, numeral
from bide.report.words import cards, engine_name
from bide.simulate.operating import Load, Mix
from bide.units import format_rate

_SETTINGS = ("ep", *FORMAT_KEYS, *KNOBS, "pool_bytes_per_gpu")
"""All but what `cards` says."""


def names(asked: Sequence[tuple[Deployment, Mix]]) -> list[str]:
    """A name for each: the cards, and whatever else differs and was not left to the engine's defaults."""
    deployments = [deployment for deployment, _mix in asked]
    lengths = len({mix for _deployment, mix in asked}) > 1
    models = len({deployment.model.name for deployment in deployments}) > 1
    engines = len({engine_name(deployment) for deployment in deployments}) > 1
    settings = [key for key in _SETTINGS if len({getattr(deployment, key) for deployment in deployments}) > 1]
    found = []
    for deployment, mix in asked:
        parts = [deployment.model.name] if models else []
        parts.append(_cards(deployment))
        parts += [engine_name(deployment)] if engines else []
        parts += [_setting(deployment, key) for key in settings if _was_said(deployment, key)]
        parts += [mix_name(mix)] if lengths else []
        found.append(", ".join(parts))
    return found


def _cards(deployment: Deployment) -> str:
    gpus = deployment.replica_gpus
    return cards(deployment, gpus) if gpus > 1 or deployment.gpu is None else deployment.gpu.id


def _setting(deployment: Deployment, key: str) -> str:
    """`kv_dtype fp8`; a switch as `enforce_eager` or `no enforce_eager`."""
    value = getattr(deployment, key)
    if isinstance(value, bool):
        return key if value else _("no {name}").format(name=key)
    return f"{key} {value}"


def _was_said(deployment: Deployment, key: str) -> bool:
    return all(assumed.name != key for assumed in deployment.assumptions)


def mix_name(mix: Mix) -> str:
    """`1,000 + 500 tokens`: prompt and output."""
    text = _("{prompt:,.10g} + {output:,.10g} tokens")
    return text.format(prompt=round(mix.prompt_tokens, 1), output=round(mix.output_tokens, 1))


def lengths(mix: Mix) -> str:
    """The same in words."""
    text = _("prompts of {prompt:,.10g} and answers of {output:,.10g} tokens")
    return text.format(prompt=round(mix.prompt_tokens, 1), output=round(mix.output_tokens, 1))


def load_name(load: Load) -> str:
    """`1 client`, `2.5 requests/s`, `a batch of 64`."""
    if load.kind == "requests_per_s":
        return format_rate(load.value, 10)
    value = numeral(load.value, ",.10g")
    if load.kind == "concurrency":
        return ngettext("{n} client", "{n} clients", round(load.value)).format(n=value)
    return _("a batch of {n}").format(n=value)
