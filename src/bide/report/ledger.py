"""The parts of a card's ledger as people see them: their names, their sign in a text bar, their colour in a chart."""

from __future__ import annotations

from dataclasses import dataclass

from bide.i18n import _
from bide.physics.pool_rules import Ledger
from bide.report.themed import PARTS


@dataclass(frozen=True, slots=True)
class LedgerPart:
    """One part; `short_name` is for the legend of a chart."""

    name: str
    short_name: str
    sign: str
    colour: str
    size_bytes: int


def ledger_parts(ledger: Ledger) -> tuple[LedgerPart, ...]:
    """All parts; they sum to the card."""
    blue, green, yellow, violet, red, grey = PARTS
    return (
        LedgerPart(_("weights"), _("weights"), "#", blue, ledger.weights_bytes),
        LedgerPart(_("activations at their peak"), _("activations"), "a", yellow, ledger.activation_bytes),
        LedgerPart(_("runtime (CUDA, communication)"), _("CUDA and others"), "r", red, ledger.runtime_bytes),
        LedgerPart(_("CUDA graphs"), _("CUDA graphs"), "g", violet, ledger.graph_bytes),
        LedgerPart(_("pool for the cache"), _("cache pool"), "=", green, ledger.pool_bytes),
        LedgerPart(_("left free"), _("left unused"), ".", grey, ledger.unused_bytes),
    )
