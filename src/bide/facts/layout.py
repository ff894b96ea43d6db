"""How a number of GPUs is used when nobody says: tensor parallel as far as the heads allow, then pipeline."""

from __future__ import annotations

from collections.abc import Mapping

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.fits import divides_heads
from bide.facts.model import Model
from bide.facts.models import load_model
from bide.i18n import _

_MOST_GPUS = 4096


def laid_out(raw: Mapping[str, object]) -> dict[str, object]:
    """The keys of a deployment, with `tp` and `pp` in the place of `gpus`, their product.

    tp is the largest that divides the heads and the GPUs; the rest are stages. Raises BadInput where tp, pp or dp
    are given too, or where the layers are too few.
    """
    gpus = raw.get("gpus")
    others = {key: value for key, value in raw.items() if key != "gpus"}
    return others if gpus is None else {**others, **_fitting(others, gpus)}


def timed_deployment(raw: Mapping[str, object]) -> Deployment:
    """The deployment, laid out; raises BadInput for one without a GPU, which has no step times."""
    deployment = Deployment.resolve(laid_out(raw))
    if deployment.gpu is None:
        raise BadInput("gpu", None, _("a GPU of the catalogue (`bide gpus`): without one there are no step times"))
    return deployment


def _fitting(raw: Mapping[str, object], gpus: object) -> dict[str, int]:
    for key in ("tp", "pp", "dp"):
        if raw.get(key) is not None:
            raise BadInput("gpus", gpus, _("either gpus or tp, pp and dp, not both"))
    if not isinstance(gpus, int) or isinstance(gpus, bool) or not 1 <= gpus <= _MOST_GPUS:
        raise BadInput("gpus", gpus, _("a whole number from 1 to {most:,}").format(most=_MOST_GPUS))
    given = raw.get("model")
    model = given if isinstance(given, Model) else load_model(str(given))
    tp = next((n for n in range(gpus, 0, -1) if gpus % n == 0 and divides_heads(model, n)), 0)
    if not tp or gpus // tp > model.layer_count:
        allowed = _("a number of GPUs that {heads} attention heads and {layers} layers can be split over")
        raise BadInput("gpus", gpus, allowed.format(heads=model.attention_heads, layers=model.layer_count))
    return {"tp": tp, "pp": gpus // tp}
