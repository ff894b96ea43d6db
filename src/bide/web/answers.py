"""`memory` and `curve`: answered at once, in this process, by the functions that the command line calls.

In-process callers (the page) use `memory_value` and `curve_value` for the values, `memory` and `curve` for the JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bide.errors import BadInput, CannotBeMet
from bide.i18n import _
from bide.web import asks
from bide.web.json_body import read_json
from bide.web.names import FILE, model_of
from bide.web.shape_faults import from_shape
from bide.web.shapes import Shape
from bide.web.staging import replaced

if TYPE_CHECKING:
    from bide.report.curve_said import CurvesSaid
    from bide.report.memory_answer import MemoryAnswer
    from bide.simulate.operating import Load, LoadKind, Mix
    from bide.web.state import State

MOST_CURVES = 16
Ask = TypeVar("Ask", bound=Shape)
Body = Mapping[str, Any] | Shape


def checked(kind: type[Ask], body: Body) -> Ask:
    """`body` in its shape. Raises BadInput for the first thing that is wrong."""
    from pydantic import ValidationError

    if isinstance(body, kind):
        return body
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise from_shape(error, body) from None


def memory(body: Body, state: State) -> dict[str, Any]:
    """The object that `bide memory --json` prints; `fits` says whether it can be met."""
    return said("memory", lambda: memory_value(body, state).to_dict())


def curve(body: Body, state: State) -> dict[str, Any]:
    """The object that `bide curve --json` prints; what does not fit stands in `not_shown`."""
    from bide.report.curve_answer import curves_dict

    return said("curve", lambda: curves_dict(curve_value(body, state)))


def said(command: str, make: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """An answer with its schema; one that is no gives its reason instead."""
    schema = {"schema": f"bide.{command}/1"}
    try:
        return {**schema, **make()}
    except CannotBeMet as error:
        return {**schema, "cannot_be_met": str(error)}


def memory_value(body: Body, state: State) -> MemoryAnswer:
    """What fits. Raises BadInput, CannotBeMet."""
    from bide.facts.layout import laid_out
    from bide.plan.tenants import Tenant
    from bide.report.memory_answer import MemoryAnswer
    from bide.units import parse_tokens

    ask = checked(asks.MemoryAsk, body)
    plain = replaced(ask.plain(), state.own_file)
    raw = deployment_keys(plain["deployment"], state.settings.hub)
    if "pool_bytes_per_gpu" in plain:
        raw["pool_bytes_per_gpu"] = plain["pool_bytes_per_gpu"]
    contexts = [parse_tokens(tokens, "context_tokens") for tokens in plain.get("context_tokens", ())]
    mean = parse_tokens(ask.mean_tokens, "mean_tokens") if ask.mean_tokens is not None else None
    tenants = [
        Tenant(each.name, parse_tokens(each.tokens, f"services[{place}].tokens"), each.users)
        for place, each in enumerate(ask.services or ())
    ]
    return MemoryAnswer(laid_out(raw), contexts, mean, tenants, profile_path(plain))


def curve_value(body: Body, state: State) -> CurvesSaid:
    """The curves, and those that have none. Raises BadInput."""
    from bide.facts.layout import timed_deployment
    from bide.report.curve_answer import curves_said

    ask = checked(asks.CurveAsk, body)
    if (ask.deployments is None) == (ask.deployment is None):
        raise BadInput("deployments", None, _("either deployment, or deployments with a list of them"))
    plain = replaced(ask.plain(), state.own_file)
    given = plain.get("deployments") or [plain["deployment"]]
    mixes = _mixes(ask)
    if len(given) * len(mixes) > MOST_CURVES:
        allowed = _("at most {most} curves on one chart").format(most=MOST_CURVES)
        raise BadInput("deployments", _("{n} curves").format(n=len(given) * len(mixes)), allowed)
    deployments = [timed_deployment(deployment_keys(raw, state.settings.hub)) for raw in given]
    curves = [(deployment, mix) for deployment in deployments for mix in mixes]
    return curves_said(curves, _loads(ask), profile_path(plain), ask.steps)


def deployment_keys(given: Mapping[str, Any], hub: bool) -> dict[str, Any]:
    """The keys of a deployment with its model in the place of what it is called."""
    if "model" not in given:
        return dict(given)
    return {**given, "model": model_of(given["model"], hub)}


def profile_path(plain: Mapping[str, Any]) -> Path | None:
    """The file of step times that a request brings, looked into. Raises BadInput, naming it as its user did."""
    from bide.physics.profile import load_profile

    if not plain.get("profile"):
        return None
    path = Path(plain["profile"][FILE])
    read_json(path.read_bytes(), "profile")  # bounded
    try:
        load_profile(path)
    except BadInput as error:
        raise BadInput("profile", path.name, error.allowed, error.hint) from error
    return path


def _mixes(ask: asks.CurveAsk) -> list[Mix]:
    """Each once, in order."""
    from bide.simulate.curve_lines import checked_tokens
    from bide.simulate.operating import Mix

    pairs = [(f"mixes[{n}].", mix.prompt_tokens, mix.output_tokens) for n, mix in enumerate(ask.mixes or ())]
    if not pairs or ask.prompt_tokens is not None or ask.output_tokens is not None:
        pairs.insert(0, ("", ask.prompt_tokens, ask.output_tokens))  # type: ignore[arg-type]  # None: refused below
    found = [
        Mix(checked_tokens(prompt, f"{place}prompt_tokens"), checked_tokens(output, f"{place}output_tokens"))
        for place, prompt, output in pairs
    ]
    return list(dict.fromkeys(found))


def _loads(ask: asks.CurveAsk) -> tuple[Load, ...] | None:
    """Rising, each once."""
    from bide.simulate.curve_lines import checked_load

    given = asks.load_of(ask)
    if given is None:
        return None
    name, values = given
    kind: LoadKind = name  # type: ignore[assignment]  # the three names are the three kinds
    return tuple(sorted({checked_load(kind, value, name) for value in values}, key=lambda load: load.value))
