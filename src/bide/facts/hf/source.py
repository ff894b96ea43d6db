"""Finding and reading a model's files: a config.json, a directory, or a Hugging Face id.

Whatever is wrong with a file becomes one BadInput that names the field `model`. Nothing larger
than 16 MiB is read; published configs are a few KiB.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bide.errors import BadInput, nearest
from bide.i18n import _
from bide.sourced import Source

MAX_BYTES = 16 * 2**20
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
_PICKLE_OR_ZIP = (b"PK\x03\x04", b"\x80\x02", b"\x80\x04")


class ModelFiles(NamedTuple):
    """A parsed config.json, ModelOpt's hf_quant_config.json beside it, and where they came from."""

    config: dict[str, Any]
    quantisation: dict[str, Any] | None
    source: Source


def read_model_files(given: str | Path, known: Iterable[str] = ()) -> ModelFiles:
    """Read the config of a model given as a file, a directory or a Hugging Face id.

    `known` are the catalogue's names, for "did you mean". Raises BadInput naming `model`.
    """
    path = Path(given)
    mode = _mode(path)
    if mode is None and _HUB_ID.fullmatch(str(given)):
        return read_from_hub(str(given), known)
    if mode is None:
        raise _bad(given, _("a catalogue name, a config.json, a directory or a Hugging Face id"), _near(given, known))
    if stat.S_ISDIR(mode):
        return _from_directory(path)
    return ModelFiles(read_json(path), None, Source(str(path), kind="config"))


def read_json(path: Path) -> dict[str, Any]:
    """The one JSON object in `path`; a UTF-8 BOM is allowed, more than 16 MiB is not."""
    data = _read_bytes(path)
    kind = _foreign(data)
    if kind:
        raise _bad(path, _("a config.json"), _("this is {kind}: give the config.json beside it").format(kind=kind))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _bad(path, _("a UTF-8 text file"), _("is it a weights or a compressed file?")) from None
    return _parse(text, path)


def _bad(given: object, allowed: str, hint: str = "") -> BadInput:
    return BadInput("model", str(given), allowed, hint)


def _near(given: object, known: Iterable[str]) -> str:
    near = nearest(str(given), known)
    if near:
        return _("did you mean {names}?").format(names=_(" or ").join(near))
    return _("there is no such file, and no model of that name in the catalogue (`bide models`)")


def _mode(path: Path) -> int | None:
    """The file's mode; None where there is none (a name that cannot be a path included)."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        if error.errno in (36, 63):  # ENAMETOOLONG on Linux and on macOS
            return None
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> BadInput:
    return _bad(path, _("a file that can be read"), f"{error.strerror or error}")


def _read_bytes(path: Path) -> bytes:
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):  # before it is opened: a FIFO would wait for its writer
            raise _bad(path, _("a regular file"))
        with path.open("rb") as file:
            if facts.st_size > MAX_BYTES:
                raise _too_large(path, facts.st_size, file.read(8))
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from None


def _too_large(path: Path, size_bytes: int, start: bytes) -> BadInput:
    kind = _foreign(start) or _("a weights file or a tokenizer")
    allowed = _("a file of at most 16 MiB; this one has {size:,.0f} MiB").format(size=size_bytes / 2**20)
    return _bad(path, allowed, _("a config.json has a few KiB: is this {kind}?").format(kind=kind))


def _foreign(data: bytes) -> str:
    """What a file that is not JSON is, by its first bytes; empty where they tell nothing."""
    if data.startswith(b"GGUF"):
        return _("a GGUF file (weights)")
    if data[8:9] == b"{" and data[:1] not in (b"{", b" ", b"\n") and int.from_bytes(data[:8], "little") < 2**40:
        return _("a safetensors file (weights)")
    if data.startswith(_PICKLE_OR_ZIP):
        return _("a PyTorch or zip file (weights)")
    return ""


def _parse(text: str, path: Path) -> dict[str, Any]:
    if not text.strip():
        raise _bad(path, _("one JSON object"), _("the file is empty"))
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise _bad(path, _("one JSON object"), _where(text, error)) from None
    except RecursionError:
        raise _bad(path, _("a JSON object nested at most a few levels deep"), _("this is no config.json")) from None
    except ValueError as error:
        raise _bad(path, _("one JSON object"), str(error)) from None
    if not isinstance(value, dict):
        raise _bad(path, _("one JSON object"), _("the file holds {kind}").format(kind=_kind(value)))
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a key that stands twice with different values has no meaning."""
    made = dict(pairs)
    if len(made) < len(pairs):
        for key, value in pairs:
            if made[key] != value:
                raise ValueError(_("the key {key} stands twice, with different values").format(key=repr(key[:80])))
    return made


def _where(text: str, error: json.JSONDecodeError) -> str:
    place = _("line {line}, column {column}: {what}").format(line=error.lineno, column=error.colno, what=error.msg)
    cut = error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string")
    return f"{place}; " + _("the file looks cut short") if cut else place


def _kind(value: object) -> str:
    names = {list: _("a list"), str: _("a text"), type(None): "null", bool: _("true or false")}
    return names.get(type(value), _("a number"))


def _from_directory(path: Path) -> ModelFiles:
    names = _names(path)
    quantisation = read_json(path / "hf_quant_config.json") if "hf_quant_config.json" in names else None
    if "config.json" in names:
        return ModelFiles(
            read_json(path / "config.json"), quantisation, Source(str(path / "config.json"), kind="config")
        )
    if "params.json" in names:
        config = from_mistral_params(read_json(path / "params.json"), path / "params.json")
        return ModelFiles(config, quantisation, Source(str(path / "params.json"), kind="config"))
    hint = _("it holds {names}").format(names=", ".join(names[:5])) if names else _("it is empty")
    raise _bad(path, _("a directory with a config.json"), hint)


def _names(path: Path) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        raise _unreadable(path, error) from None


_PARAMS = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "head_dim": "head_dim",
    "hidden_dim": "intermediate_size",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "vocab_size": "vocab_size",
    "sliding_window": "sliding_window",
    "tied_embeddings": "tie_word_embeddings",
    "max_position_embeddings": "max_position_embeddings",
    "max_seq_len": "max_position_embeddings",
}
_BEYOND_PARAMS = ("q_lora_rank", "kv_lora_rank", "vision_encoder", "multimodal", "quantization")


def from_mistral_params(params: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Mistral's own `params.json` as a `config.json`, for its dense and its mixture-of-experts text models."""
    beyond = [key for key in _BEYOND_PARAMS if params.get(key)]
    if beyond:
        hint = _("{keys} are only read from a config.json").format(keys=", ".join(beyond))
        raise _bad(path, _("the params.json of a plain text model"), hint)
    config = {name: params[key] for key, name in _PARAMS.items() if params.get(key) is not None}
    config["model_type"] = "mistral"
    moe = params.get("moe")
    if isinstance(moe, Mapping):
        experts = {"num_local_experts": moe.get("num_experts"), "num_experts_per_tok": moe.get("num_experts_per_tok")}
        config |= {**experts, "model_type": "mixtral"}
    return config


def read_from_hub(name: str, known: Iterable[str] = ()) -> ModelFiles:
    """Download config.json (and hf_quant_config.json, where there is one) through huggingface_hub.

    A file or a directory of that name on this machine is not looked at. Raises BadInput naming `model`.
    """
    if not _HUB_ID.fullmatch(name):
        raise _bad(name, _("a Hugging Face id"))
    try:
        hub: Any = importlib.import_module("huggingface_hub")
    except ImportError:
        hint = _("to look it up on Hugging Face: pip install 'bide[hub]'; the catalogue works without (`bide models`)")
        raise _not_found(name, known, hint) from None
    try:
        path = fetched(hub, name, "config.json")
    except Exception as error:  # whatever the hub or the network raises means: not available
        hint = _("tried huggingface.co/{name}: {why}; the catalogue works offline (`bide models`)")
        raise _not_found(name, known, hint.format(name=name, why=first_line(error))) from None
    return ModelFiles(read_json(path), _quantisation_from_hub(hub, name), _hub_source(name, path))


def fetched(hub: Any, name: str, file: str) -> Path:
    """The file, from the cache where the hub does not answer; raises what the hub raises.

    Asked for with one request first: a download that finds no network tries again for half a minute.
    """
    try:
        hub.get_hf_file_metadata(hub.hf_hub_url(name, file))
    except Exception:
        kept = hub.try_to_load_from_cache(name, file)
        if isinstance(kept, str):  # not where it is known that the hub has none
            return Path(kept)
        raise
    return Path(hub.hf_hub_download(name, file))


def _quantisation_from_hub(hub: Any, name: str) -> dict[str, Any] | None:
    try:
        path = fetched(hub, name, "hf_quant_config.json")
    except Exception:  # most repositories have none
        return None
    return read_json(path)


def _hub_source(name: str, path: Path) -> Source:
    """The address of the revision that was read: the cache keeps it under `snapshots/<commit>/`."""
    revision = path.parent.name if path.parent.parent.name == "snapshots" else "main"
    return Source(f"https://huggingface.co/{name}/blob/{revision}/config.json", kind="config")


def _not_found(name: str, known: Iterable[str], hint: str) -> BadInput:
    near = nearest(name, known)
    if near:
        hint = _("did you mean {names}?").format(names=_(" or ").join(near)) + " " + hint
    return _bad(name, _("a catalogue name, a config.json, a directory or a Hugging Face id"), hint)


def first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:160]}" if lines else type(error).__name__
