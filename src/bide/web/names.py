"""Models by what clients may call them: the catalogue's names, a config's content, an id of the hub where allowed.

Never by a path: whatever lies on the server's disk cannot be named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.facts.models import catalogue_model, find, hub_model, unknown
from bide.i18n import _
from bide.web.foreign import foreign_model
from bide.web.json_body import read_json

if TYPE_CHECKING:
    from bide.facts.model import Model

FILE = "$file"
"""The key of a file that the server has put in a request in the place of an upload; nobody else may use it."""
_PART = r"[A-Za-z0-9][\w.-]{0,95}"
_NAME = re.compile(rf"(?a:{_PART}(/{_PART})?)")
_LARGEST_BYTES = 2**20


def check_model_name(name: object, hub: bool, field: str = "model") -> str:
    """`name`, where it is one of the catalogue, or an id and `hub` allows it. Raises BadInput; looks at no disk."""
    allowed = _("a catalogue name (/api/v1/models), an upload, or the content of a config.json")
    if not isinstance(name, str) or not name.strip():
        raise BadInput(field, name, allowed)
    if _NAME.fullmatch(name.strip().replace(" ", "-")) is None or ".." in name:
        raise BadInput(field, name, allowed, _("paths and addresses are not read"))
    if find(name) is not None or (hub and "/" in name):
        return name.strip()
    hint = "" if hub or "/" not in name else _("this server does not look models up on Hugging Face (--hub)")
    known = unknown(name, hint)
    raise BadInput(field, name, allowed, known.hint)


def model_of(given: object, hub: bool) -> Model:
    """The model that a request names: see `check_model_name`; a file's content is read as a config.json."""
    if isinstance(given, Mapping):
        config, name, quantisation = config_of(given)
        return foreign_model(config, name, quantisation)
    name = check_model_name(given, hub)
    return catalogue_model(name) if find(name) is not None else hub_model(name)


def asks_hub(ask: object) -> bool:
    """Whether a question about deployments names a model that the catalogue does not have."""
    asked = [getattr(ask, "deployment", None), *(getattr(ask, "deployments", None) or ())]
    names = [each.model for each in asked if each is not None]
    return any(isinstance(name, str) and "/" in name and find(name) is None for name in names)


def config_of(given: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, Mapping[str, Any] | None]:
    """A config.json, what its model is called, and the hf_quant_config.json; from a file or as they stand."""
    config = _read(Path(given[FILE])) if FILE in given else given["config"]
    if not isinstance(config, Mapping):
        raise BadInput("model", type(config).__name__, _("the JSON object of a config.json"))
    own = str(config.get("_name_or_path") or config.get("model_type") or "model")
    stem = Path(given[FILE]).name.partition(".")[0] if FILE in given else ""
    name = given.get("name") or (stem if stem not in ("", "config", "upload") else own)
    return config, _tidy(str(name)), given.get("quantization")


def _tidy(name: str) -> str:
    """A name that can stand in a sentence, in a file's name and in YAML."""
    safe = re.sub(r"[^\w./ +-]+", "_", name, flags=re.ASCII).strip("./ _-")[:100]
    return re.sub(r"\.\.+|//+", ".", safe) or "model"


def _read(path: Path) -> Any:
    if path.stat().st_size > _LARGEST_BYTES:
        raise BadInput("model", path.name, _("a config.json of at most 1 MiB"), _("weights are not needed"))
    try:
        return read_json(path.read_bytes(), "model")
    except BadInput as error:
        raise BadInput("model", path.name, _("a config.json"), error.hint or error.allowed) from error
