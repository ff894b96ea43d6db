"""Calibration profiles: how much of the hardware's peaks engines reach, fitted to measured runs, with their spread.

A profile is a JSON file: `terms` (name to value), `spread` (how far predictions were off, on models that were held
out), and where it all comes from. The shipped one is `data/profile.json`, written by `tools/calibrate.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.physics.own import Own, checked, own_dict, own_from

SCHEMA = "bide.profile/1"
VARIABLE = "BIDE_PROFILE"
METRICS = ("ttft_s", "tpot_s", "e2e_s", "output_tokens_per_s")
_AT_MOST_ONE = ("bandwidth", "compute", "attention", "latent_attention", "link", "burst", "draws")
"""Terms (up to the dot) that are shares of a whole, and the power of tokens that cannot choose more than alone."""
_LEAST, _MOST = 1e-12, 1e6
"""Of any term: beyond, step times are no numbers."""
_FURTHEST = 20.0
"""Of a spread's ends: e^20 is a factor of 500 million."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Natural logarithms of measured / predicted that 80 % of held-out points lie between, by metric."""

    low: Mapping[str, float]
    high: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Profile:
    """Fitted terms by name (`bandwidth.hopper`; see `physics.reached`), and what they were fitted to."""

    name: str
    date: str
    terms: Mapping[str, float]
    spread: Mapping[str, Spread]
    """By how near a case is to the data: `near`, `model`, `gpu`, `far` (see `physics.nearness`)."""
    seen: Mapping[str, tuple[str, ...]]
    """What the runs covered: `gpus`, `kinds`, `engines`, `shapes`."""
    summary: str
    """One line: points, curves, and the held-out errors."""
    own: Own | None = None
    """Of a deployment that was measured by itself, with the other terms as they were shipped."""
    path: Path | None = None
    """Of the file that it was read from; None: the shipped one."""

    def applied(self, deployment: Deployment) -> Profile:
        """With the terms of a measured deployment, where they hold for this one."""
        if self.own is None or not self.own.terms or not self.own.same_engine(deployment):
            return self
        return replace(self, terms={**self.terms, **self.own.terms})

    def term(self, *names: str) -> float:
        """The first of `names` that was fitted. Raises BadInput where none was."""
        for name in names:
            if name in self.terms:
                return self.terms[name]
        file = self.path.name if self.path else self.name  # where it lies is nobody's business who sent it to a server
        raise BadInput("profile", file, _("one that has the term {term}").format(term=names[0]))


def load_profile(path: Path | None = None) -> Profile:
    """The profile in `path`, else in $BIDE_PROFILE, else the shipped one.

    Raises BadInput naming `profile` for a file that cannot be read or is no profile.
    """
    given = path or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    return _shipped() if given is None else _from_file(given)


@lru_cache(maxsize=1)
def _shipped() -> Profile:
    return _profile(json.loads((resources.files("bide.physics") / "data" / "profile.json").read_text()))


def _from_file(path: Path) -> Profile:
    allowed = _("a profile that `bide calibrate` or tools/calibrate.py wrote")
    try:
        return replace(_profile(json.loads(path.read_text())), path=path)
    except OSError as error:
        raise BadInput("profile", str(path), allowed, str(error.strerror)) from error
    except KeyError as error:
        why = _("it has no {key}").format(key=error.args[0])
        raise BadInput("profile", str(path), allowed, why) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput("profile", str(path), allowed, _("not understood: {why}").format(why=error)) from error


def _profile(record: Mapping[str, Any]) -> Profile:
    if record["schema"] != SCHEMA:
        raise ValueError(f"schema {record['schema']}")
    terms = {name: _term(name, term["value"]) for name, term in record["terms"].items()}
    spread = {name: Spread(_ends(ends["low"]), _ends(ends["high"])) for name, ends in record["spread"].items()}
    seen = {name: tuple(map(str, values)) for name, values in record["seen"].items()}
    needed = {"spread.near", "spread.model", "spread.gpu", "seen.gpus", "seen.models"}
    missing = needed - {f"spread.{name}" for name in spread} - {f"seen.{name}" for name in seen}
    if missing:
        raise KeyError(min(missing))
    said = record.get("own")
    own = None if said is None else own_from(said, {name: _term(name, value) for name, value in said["terms"].items()})
    return Profile(str(record["name"]), str(record["date"]), terms, spread, seen, str(record["summary"]), own)


def _term(name: str, value: object) -> float:
    most = 1.0 if name.partition(".")[0] in _AT_MOST_ONE else _MOST
    return checked(name, value, _LEAST, most)


def _ends(given: Mapping[str, object]) -> dict[str, float]:
    return {metric: checked(metric, given[metric], -_FURTHEST, _FURTHEST) for metric in METRICS}


def profile_dict(profile: Profile, terms: Mapping[str, Mapping[str, object]], **more: object) -> dict[str, object]:
    """A profile as its file has it; `terms` may say more than each value."""
    return {
        "schema": SCHEMA,
        "name": profile.name,
        "date": profile.date,
        "summary": profile.summary,
        **more,
        **({} if profile.own is None else {"own": own_dict(profile.own)}),
        "seen": {name: list(values) for name, values in profile.seen.items()},
        "spread": {name: {"low": dict(s.low), "high": dict(s.high)} for name, s in profile.spread.items()},
        "terms": dict(terms),
    }
