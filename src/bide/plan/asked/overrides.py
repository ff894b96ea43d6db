"""What the command line puts in the place of a file's values, for quick what-ifs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bide.errors import BadInput, UnknownName
from bide.i18n import _
from bide.located import Located


@dataclass(frozen=True, slots=True)
class Overrides:
    """Values as text, one for each time that the flag was given. Empty: as the file has it.

    `peak_rps` and `margin` may begin with a service's name (`chat=12`); a peak has to where there are several.
    """

    gpus: tuple[str, ...] = ()
    max_gpus: int | None = None
    peak_rps: tuple[str, ...] = ()
    margin: tuple[str, ...] = ()
    patience: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """As on the command line."""
        given = [
            *(("--gpu", gpu) for gpu in self.gpus),
            *((("--max-gpus", str(self.max_gpus)),) if self.max_gpus is not None else ()),
            *(("--peak-rps", text) for text in self.peak_rps),
            *(("--margin", text) for text in self.margin),
            *(("--patience", text) for text in self.patience),
        ]
        return tuple(f"{flag} {shlex.quote(value)}" for flag, value in given)


NOTHING = Overrides()


def overridden(root: Located, given: Overrides) -> Located:
    """The file with the values of the flags in it; errors of these name the flag. Raises BadInput."""
    if given == NOTHING or not _whole(root):
        return root  # what is wrong with the file is said where it is read
    hardware = _hardware(root.value["hardware"], given)
    services = root.value["services"]
    entries = list(services.value)
    for flag, key, texts in (("--peak-rps", "peak_rps", given.peak_rps), ("--margin", "margin", given.margin)):
        for text in texts:
            entries = _traffic(entries, flag, key, text)
    if given.patience:
        limits = Located(limits_of(given.patience, "--patience"), "--patience", 0)
        entries = [_put(entry, "patience", limits) for entry in entries]
    return replace(root, value={**root.value, "hardware": hardware, "services": replace(services, value=entries)})


def _whole(root: Located) -> bool:
    """Whether there is a place for every value."""
    if not isinstance(root.value, dict) or not {"services", "hardware"} <= root.value.keys():
        return False
    services = root.value["services"].value
    if not isinstance(services, list) or not isinstance(root.value["hardware"].value, dict):
        return False
    return all(isinstance(entry.value, dict) for entry in services)


def _put(entry: Located, key: str, item: Located) -> Located:
    return replace(entry, value={**entry.value, key: item})


def _hardware(entry: Located, given: Overrides) -> Located:
    if given.max_gpus is not None:
        entry = _put(entry, "max_gpus", Located(given.max_gpus, "--max-gpus", 0))
    if given.gpus:
        entry = _put(entry, "gpus", Located([Located(gpu, "--gpu", 0) for gpu in given.gpus], "--gpu", 0))
        entry = _with_prices_of(entry, given.gpus)
    return entry


def _with_prices_of(entry: Located, gpus: Sequence[str]) -> Located:
    """Without the prices of GPUs that are not among `gpus` any more."""
    from bide.facts.gpus import find_gpu

    prices = entry.value.get("prices")
    if prices is None or not isinstance(prices.value, dict):
        return entry
    wanted = {find_gpu(gpu, "--gpu").id for gpu in gpus}
    kept = {key: item for key, item in prices.value.items() if find_gpu(key, item.path).id in wanted}
    return _put(entry, "prices", replace(prices, value=kept))


def _traffic(entries: list[Located], flag: str, key: str, text: str) -> list[Located]:
    """`text` for the service that it names; for all of them where it names none, if one figure can be meant for all."""
    name, equals, value = text.rpartition("=")
    if equals and not any(_is_named(entry, name) for entry in entries):
        names = [str(entry.value["name"].value) for entry in entries if "name" in entry.value]
        raise UnknownName(flag, name, names, _("one of {names}").format(names=", ".join(names)))
    if not equals and key == "peak_rps" and len(entries) > 1:
        raise BadInput(flag, text, _("NAME=RPS, with the name of one of the services"))
    item = Located(number_of(value), flag, 0)

    def change(entry: Located) -> Located:
        traffic = entry.value.get("traffic")
        if (equals and not _is_named(entry, name)) or traffic is None or not isinstance(traffic.value, dict):
            return entry
        kept = _put(traffic, key, item)
        return _put(entry, "traffic", _without_window(kept) if key == "peak_rps" else kept)

    return [change(entry) for entry in entries]


def _without_window(traffic: Located) -> Located:
    """The window goes with a peak that is taken from the trace."""
    if traffic.value["peak_rps"].value == "trace":
        return traffic
    return replace(traffic, value={key: item for key, item in traffic.value.items() if key != "window"})


def _is_named(entry: Located, name: str) -> bool:
    return "name" in entry.value and entry.value["name"].value == name


def number_of(text: str) -> object:
    """A number where it is one: else the word, for whoever reads the key to judge."""
    kinds: tuple[Callable[[str], object], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def limits_of(texts: Sequence[str], field: str) -> dict[str, Located]:
    """`e2e_p95=5s`, several of them apart or with commas in between, as a patience. Raises BadInput naming `field`."""
    limits: dict[str, Located] = {}
    for text in (part.strip() for whole in texts for part in whole.split(",")):
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise BadInput(field, text, _("MEASURE=TIME, such as e2e_p95=5s"))
        if key in limits:
            raise BadInput(field, text, _("each measure once"))
        limits[key] = Located(value, field, 0)
    return limits
