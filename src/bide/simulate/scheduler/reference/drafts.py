"""How many draft tokens a step accepts: chance, but the same chance for the same request, length and seed."""

from __future__ import annotations

_MASK = (1 << 64) - 1


def accepted_drafts(seed: int, request: int, outputs: int, drafts: int, chance: float) -> int:
    """Drafts accepted before the first that is refused, each with `chance`.

    >>> accepted_drafts(0, 1, 5, 3, 1.0), accepted_drafts(0, 1, 5, 3, 0.0)
    (3, 0)
    """
    stream = _mixed(_mixed(seed & _MASK) ^ request)
    for draft in range(drafts):
        if (_mixed(stream ^ (outputs * 64 + draft)) >> 11) / (1 << 53) >= chance:
            return draft
    return drafts


def _mixed(bits: int) -> int:
    """SplitMix64's output function (Steele, Lea and Flood, OOPSLA 2014)."""
    bits = (bits + 0x9E3779B97F4A7C15) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)
