"""Sizes and times as people write them, and back.

GiB is 2**30 bytes and GB is 10**9; output always says which. `k` and `m` on token counts are
binary where engines use them so (`8k` = 8,192 tokens, `128k` = 131,072), as in "an 8k context".
"""

from __future__ import annotations

import math
import re

from bide.errors import BadInput
from bide.i18n import _, localised, ngettext, numeral

KIB = 2**10
MIB = 2**20
GIB = 2**30
GB = 10**9

_BYTE_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": GB,
    "tb": 10**12,
    "kib": KIB,
    "mib": MIB,
    "gib": GIB,
    "tib": 2**40,
}
_TIME_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_TOKEN_UNITS = {"": 1, "k": KIB, "ki": KIB, "m": MIB, "mi": MIB}
_LARGEST = 1e30
"""More than any size, time or count that means something; keeps what follows finite."""
_QUANTITY = re.compile(
    r"\s*((?:[1-9][0-9]{0,2}(?:,[0-9]{3})+|[0-9][0-9_]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*"
)
"""Commas part thousands: `1,5s` and `0,500s` are no times."""
_COMMA = re.compile(r"[0-9]{1,9},[0-9]{1,9}\s*[A-Za-z]{0,5}")


def _parse(text: object, units: dict[str, int] | dict[str, float], field: str, allowed: str) -> float:
    if isinstance(text, bool) or not isinstance(text, (int, float, str)):
        raise BadInput(field, text, allowed)
    if isinstance(text, (int, float)):
        if not 0 <= text <= _LARGEST:
            raise BadInput(field, text, allowed)
        return float(text)
    match = _QUANTITY.fullmatch(text)
    unit = match.group(2).lower() if match else ""
    if match is None or unit not in units:
        raise BadInput(field, text, allowed, likely_number(text))
    value = float(match.group(1).replace(",", "").replace("_", "")) * units[unit]
    if value > _LARGEST:
        raise BadInput(field, text, allowed)
    return value


def likely_number(text: str) -> str:
    """What was likely meant by a number that cannot be read, as a hint: a comma for a point; or "".

    >>> likely_number("1,5s"), likely_number("many")
    ('with a decimal point: 1.5s', '')
    """
    given = text.strip()
    if not _COMMA.fullmatch(given):
        return ""
    return _("with a decimal point: {number}").format(number=given.replace(",", "."))


def parse_bytes(text: object, field: str = "bytes") -> int:
    """`"53GB"` -> 53000000000, `"53GiB"` -> 56908316672; a bare number is bytes.

    Raises BadInput naming `field` for anything else.

    >>> parse_bytes("53GB"), parse_bytes("1.5 GiB")
    (53000000000, 1610612736)
    """
    return round(_parse(text, _BYTE_UNITS, field, _("a size such as 53GB or 49GiB")))


def parse_seconds(text: object, field: str = "time") -> float:
    """`"50ms"` -> 0.05; a bare number is seconds.

    >>> parse_seconds("50ms"), parse_seconds("5s"), parse_seconds("2min")
    (0.05, 5.0, 120.0)
    """
    return _parse(text, _TIME_UNITS, field, _("a time such as 5s, 50ms or 2min"))


def parse_tokens(text: object, field: str = "tokens") -> int:
    """`"8k"` -> 8192, `"128k"` -> 131072, `"2000"` -> 2000; whole and at least 1.

    >>> parse_tokens("8k"), parse_tokens("13,000")
    (8192, 13000)
    """
    allowed = _("a whole number of tokens such as 2000, 8k (8,192) or 128k (131,072)")
    value = _parse(text, _TOKEN_UNITS, field, allowed)
    if value < 1 or value != int(value) or value > 10**12:
        raise BadInput(field, text, allowed)
    return int(value)


def format_bytes(count: float) -> str:
    """Bytes in the largest binary unit that keeps the number at least 1.

    >>> format_bytes(131072), format_bytes(16 * GIB), format_bytes(70272)
    ('128 KiB', '16 GiB', '68.6 KiB')
    """
    size, unit = float(count), "B"
    for name in ("KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024:
            break
        size, unit = size / 1024, name
    return f"{_short(size)} {unit}"


def format_gib(count: float) -> str:
    """Always GiB, two decimals, for columns that are compared. `format_gib(GIB)` is `"1.00"`."""
    return numeral(count / GIB, ".2f")


def format_rate(requests_per_s: float, digits: int = 3) -> str:
    """So many requests a second, with so many digits.

    >>> format_rate(1), format_rate(0.25), format_rate(1234.5, 5)
    ('1 request/s', '0.25 requests/s', '1,234.5 requests/s')
    """
    shown = float(f"{requests_per_s:.{digits}g}")
    return ngettext("{n} request/s", "{n} requests/s", plural(shown)).format(n=numeral(shown, ",.12g"))


def plural(value: float) -> int:
    """The number by which words go with `value`: fractions go as 2 does."""
    return round(value) if float(value).is_integer() else 2


def format_seconds(seconds: float) -> str:
    """Seconds in the unit people would say.

    >>> format_seconds(0.0123), format_seconds(4.7), format_seconds(3e-5)
    ('12.3 ms', '4.7 s', '30 us')
    """
    if seconds >= 1 or seconds == 0:
        return _("{n} s").format(n=_short(seconds))
    if seconds >= 1e-3:
        return _("{n} ms").format(n=_short(seconds * 1e3))
    return _("{n} us").format(n=_short(seconds * 1e6))


def _short(value: float) -> str:
    """Three significant digits, thousands separated, no trailing zeros."""
    digits = max(0, 2 - math.floor(math.log10(abs(value)))) if value else 0
    text = f"{value:,.{digits}f}"
    return localised(text.rstrip("0").rstrip(".") if "." in text else text)
