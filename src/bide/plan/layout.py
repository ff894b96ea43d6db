"""How a number of GPUs is used when nobody says: tensor parallel as far as the heads allow, then pipeline."""

from __future__ import annotations

from collections.abc import Mapping

from bide.errors import BadInput
from bide.facts.fits import divides_heads
from bide.facts.models import load_model
from bide.i18n import _

_MOST_GPUS = 4096


def fitting_layout(raw: Mapping[str, object], gpus: int) -> dict[str, int]:
    """`tp` and `pp` for `gpus` GPUs: the largest tp that divides the heads and the GPUs, the rest in stages.

    Raises BadInput where tp, pp or dp are given too, or where the layers are too few.
    """
    for key in ("tp", "pp", "dp"):
        if raw.get(key) is not None:
            raise BadInput("gpus", gpus, _("either gpus or tp, pp and dp, not both"))
    if not 1 <= gpus <= _MOST_GPUS:
        raise BadInput("gpus", gpus, _("a whole number from 1 to {most:,}").format(most=_MOST_GPUS))
    model = load_model(str(raw["model"]))
    tp = next((n for n in range(gpus, 0, -1) if gpus % n == 0 and divides_heads(model, n)), 0)
    if not tp or gpus // tp > model.layer_count:
        allowed = _("a number of GPUs that {heads} attention heads and {layers} layers can be split over")
        raise BadInput("gpus", gpus, allowed.format(heads=model.attention_heads, layers=model.layer_count))
    return {"tp": tp, "pp": gpus // tp}
