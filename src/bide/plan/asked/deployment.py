"""`deployment`: the engine's keys that are fixed, and those of which the plan may pick from a list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from bide.errors import BadInput
from bide.facts.deployment import FORMAT_KEYS, KNOBS, SPLIT_KEYS, Deployment
from bide.facts.model import Model
from bide.i18n import _
from bide.located import Located

ENGINE_KEYS = ("engine", "engine_version")
CHOICE_KEYS = (*SPLIT_KEYS, *FORMAT_KEYS, *KNOBS)
"""Keys that may be a list; the rest of a deployment is the plan's to choose."""
_SPLITS = (1, 2, 4, 8, 16, 32, 64)
"""Of the tensor-parallel sizes that the plan may take where none is given, to try the other keys with."""
_MOST = 512
"""Combinations of the lists of one service."""

Fixed = dict[str, object]
Choices = dict[str, tuple[object, ...]]


def read_deployment(entry: Located | None, model: Model) -> tuple[Fixed, Choices]:
    """Fixed keys and choices, each value checked by the deployment itself, together with the others."""
    if entry is None:
        return {}, {}
    keys = entry.mapping((*ENGINE_KEYS, *CHOICE_KEYS))
    listed = {key: _listed(item) for key, item in keys.items() if isinstance(item.value, list)}
    combinations = 1
    for items in listed.values():
        combinations *= len(items)
    if combinations > _MOST:
        raise entry.bad(_("lists with at most {most} combinations").format(most=_MOST), f"{combinations:,}")
    fixed = {key: item for key, item in keys.items() if key not in listed}
    known = _known(model, fixed, listed, entry)
    for item in (*listed.get("max_model_len", ()), *(fixed[key] for key in fixed if key == "max_model_len")):
        _check_context(model, item, known[item.path])
    chosen = {key: tuple(known[item.path] for item in items) for key, items in listed.items()}
    for key, values in chosen.items():
        if len(set(values)) < len(values):
            raise keys[key].bad(_("each value once"))
    single = {key: values[0] for key, values in chosen.items() if len(values) == 1}
    several = {key: values for key, values in chosen.items() if len(values) > 1}
    return {key: known[item.path] for key, item in fixed.items()} | single, several


def _check_context(model: Model, item: Located, tokens: object) -> None:
    """An engine does not start with a longer context than the model's own."""
    limit = model.max_context_tokens
    if limit is not None and isinstance(tokens, int) and tokens > limit:
        raise item.bad(_("at most the model's longest context, {tokens:,}").format(tokens=limit))


def _listed(item: Located) -> list[Located]:
    key = item.path.rpartition(".")[2]
    if key not in CHOICE_KEYS:
        raise item.bad(_("one value, not a list"))
    return list(item.items())


def _known(
    model: Model, fixed: Mapping[str, Located], listed: Mapping[str, list[Located]], entry: Located
) -> dict[str, object]:
    """What the deployment makes of each value, by its path; raises for a value that fits into no combination."""
    known: dict[str, object] = {}
    refused: dict[str, BadInput] = {}
    for items in _combinations(fixed, listed):
        try:
            deployment = _resolved(model, items, tp_is_open="tp" not in {**fixed, **listed})
        except BadInput as error:
            for item in items.values():
                refused.setdefault(item.path, _placed(error, items, entry))
            continue
        known |= {item.path: _canonical(deployment, key, item) for key, item in items.items()}
    for path, why in refused.items():
        if path not in known:
            raise why
    return known


def _combinations(fixed: Mapping[str, Located], listed: Mapping[str, list[Located]]) -> Iterator[dict[str, Located]]:
    for values in product(*listed.values()):
        yield {**fixed, **dict(zip(listed, values, strict=True))}


def _resolved(model: Model, items: Mapping[str, Located], *, tp_is_open: bool) -> Deployment:
    """With the first tensor-parallel size that it works with, where the plan is to choose one."""
    raw = {key: item.plain() for key, item in items.items()} | {"model": model}
    first: BadInput | None = None
    for tp in _SPLITS if tp_is_open else (None,):
        try:
            return Deployment.resolve(raw if tp is None else {**raw, "tp": tp}, require_gpu=False)
        except BadInput as error:
            first = first or error
    assert first is not None
    raise first


def _canonical(deployment: Deployment, key: str, item: Located) -> object:
    """`8k` as 8192; names, and what is left to the engine, stay as they were given."""
    value = item.plain()
    return value if key in ENGINE_KEYS or value == "auto" else getattr(deployment, key)


def _placed(error: BadInput, items: Mapping[str, Located], entry: Located) -> BadInput:
    """The deployment's error at the value that it is about."""
    item = items.get(error.field, entry)
    hint = " ".join(filter(None, (error.hint, item.where)))
    return BadInput(item.path, error.given, error.allowed, hint)
