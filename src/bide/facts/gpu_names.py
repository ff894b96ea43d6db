"""Which GPU a name means, whatever the order, case and separators of its words.

Each GPU has a line of words, `"6000 ada | rtx 48gb generation"`: those before the bar (or one of
the alternatives between slashes) must be in the name, those after it may be, and a word that is
in neither means another card: `"RTX 4090 D"` is not an RTX 4090.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_VENDORS = {"nvidia", "amd", "intel", "google", "aws", "apple"}
_NOISE = _VENDORS | {"geforce", "instinct", "tesla", "gpu", "accelerator", "tensor", "core", "graphics", "r", "tm"}


def words(name: str) -> frozenset[str]:
    """The words of `name` that tell cards apart, sizes joined to their unit.

    >>> sorted(words("NVIDIA A100-SXM4-80GB")), sorted(words("RTX4090 24 GB"))
    (['80gb', 'a100', 'sxm4'], ['24gb', '4090', 'rtx'])
    """
    text = re.sub(r"\b(\d+)\s*(?:gib|gb|g)\b", r"\1gb", name.lower().replace("_", " "))
    return frozenset(re.findall(r"[a-z0-9.]+", re.sub(r"\brtx(?=[a-z0-9])", "rtx ", text))) - _NOISE


def model_words(line: str) -> list[str]:
    """What must be in a name, one entry for each alternative.

    >>> model_words("gaudi3/gaudi 3|128gb")
    ['gaudi3', 'gaudi 3']
    """
    return line.partition("|")[0].split("/")


def matching(name: str, lines: Mapping[str, str]) -> list[str]:
    """The ids whose words fit `name`, in the order of `lines`."""
    given = words(name)
    return [gpu_id for gpu_id, line in lines.items() if _fits(given, line)]


def _fits(given: frozenset[str], line: str) -> bool:
    optional = frozenset(line.partition("|")[2].split())
    musts = (frozenset(must.split()) for must in model_words(line))
    return any(must <= given <= must | optional for must in musts)
