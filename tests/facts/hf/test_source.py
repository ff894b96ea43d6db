"""Reading a model's files: what is accepted, and one clear BadInput for everything else."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bide.errors import BadInput
from bide.facts.hf.source import MAX_BYTES, from_mistral_params, read_json, read_model_files

CONFIG = {"model_type": "llama", "hidden_size": 4096}


def refused(path: Path | str, *words: str) -> None:
    """Reading `path` is a BadInput on the field `model` that says all of `words`."""
    with pytest.raises(BadInput) as caught:
        read_model_files(path)
    assert caught.value.field == "model"
    for word in words:
        assert word.lower() in str(caught.value).lower()


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_file_and_a_directory_read_the_same(tmp_path: Path) -> None:
    file = write(tmp_path / "config.json", json.dumps(CONFIG))
    assert read_model_files(file).config == read_model_files(tmp_path).config == CONFIG
    assert str(file) in str(read_model_files(tmp_path).source)


def test_modelopts_separate_file_is_read_with_the_directory(tmp_path: Path) -> None:
    write(tmp_path / "config.json", json.dumps(CONFIG))
    write(tmp_path / "hf_quant_config.json", '{"quantization": {"quant_algo": "NVFP4"}}')
    assert read_model_files(tmp_path).quantisation == {"quantization": {"quant_algo": "NVFP4"}}


def test_a_byte_order_mark_is_allowed(tmp_path: Path) -> None:
    assert read_json(write(tmp_path / "c.json", b"\xef\xbb\xbf" + json.dumps(CONFIG).encode())) == CONFIG


def test_infinity_is_allowed_where_published_configs_have_it(tmp_path: Path) -> None:
    # Nemotron-H and Bamba state "time_step_limit": [0.0, Infinity]
    read = read_json(write(tmp_path / "c.json", '{"time_step_limit": [0.0, Infinity]}'))
    assert read["time_step_limit"] == [0.0, float("inf")]


def test_a_truncated_file_says_where_and_that_it_looks_cut(tmp_path: Path) -> None:
    text = json.dumps(CONFIG, indent=1)
    refused(write(tmp_path / "c.json", text[:-6]), "line 3, column 1", "cut short")
    refused(write(tmp_path / "d.json", text[:20]), "cut short")


def test_a_syntax_error_in_the_middle_is_not_called_cut(tmp_path: Path) -> None:
    file = write(tmp_path / "c.json", '{"a": 1,, "b": 2, "c": 3}')
    with pytest.raises(BadInput) as caught:
        read_json(file)
    assert "Line 1, column 9" in str(caught.value)
    assert "cut" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"[1, 2]", "a list"),
        (b'"llama"', "a text"),
        (b"null", "null"),
        (b"3", "a number"),
        (b"true", "true or false"),
        (b"GGUF\x03\x00\x00\x00", "GGUF"),
        ((100).to_bytes(8, "little") + b'{"__metadata__":{}}', "safetensors"),
        (b"PK\x03\x04rest", "PyTorch"),
        (b"\x93NUMPY\xff\xfe", "UTF-8"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"hidden_size": ' + b"9" * 5000 + b"}", "JSON object"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested"),
        (b"[" * 10_000, "nested"),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_what_is_no_config_is_named(tmp_path: Path, content: bytes, word: str) -> None:
    refused(write(tmp_path / "config.json", content), word)


def test_a_key_that_stands_twice_with_one_value_is_no_error(tmp_path: Path) -> None:
    assert read_json(write(tmp_path / "c.json", '{"a": 1, "a": 1}')) == {"a": 1}


def test_a_100_mb_file_is_refused_without_being_read(tmp_path: Path) -> None:
    file = write(tmp_path / "config.json", b'{"a": "')
    os.truncate(file, 100_000_000)
    refused(file, "16 MiB", "95 MiB")  # 100,000,000 / 2**20 = 95.4


def test_a_file_at_the_limit_is_read(tmp_path: Path) -> None:
    start, end = b'{"a": "', b'"}'
    file = write(tmp_path / "c.json", start + b"x" * (MAX_BYTES - len(start) - len(end)) + end)
    assert len(read_json(file)["a"]) == MAX_BYTES - 9


def test_a_directory_without_a_config_says_what_it_holds(tmp_path: Path) -> None:
    refused(tmp_path, "config.json", "empty")
    write(tmp_path / "model.gguf", b"GGUF")
    refused(tmp_path, "model.gguf")


def test_what_is_no_regular_file_is_refused() -> None:
    refused(Path("/dev/null"), "regular file")


def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    refused(tmp_path / "config.json", "a regular file")
    refused(tmp_path, "a regular file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "config.json", "{}")
    file.chmod(0)
    refused(file, "Permission denied")


def test_an_unreadable_file_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_args: object) -> None:
        raise PermissionError(13, "Permission denied")

    file = write(tmp_path / "config.json", "{}")
    monkeypatch.setattr(Path, "open", denied)
    refused(file, "Permission denied")


@pytest.mark.parametrize("name", ["no such model", "a\0b", "x" * 5000, "./missing/config.json"], ids=lambda n: n[:8])
def test_a_name_that_is_nothing_is_refused(name: str) -> None:
    refused(name, "Hugging Face id")


def test_the_nearest_known_names_are_offered() -> None:
    with pytest.raises(BadInput, match=r"Did you mean llama-3\.1-8b"):
        read_model_files("lama-3.1-8b", known=["llama-3.1-8b", "gemma-3-27b"])


def test_a_hub_id_without_huggingface_hub_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    refused("meta-llama/Llama-3.1-8B", "bide[hub]", "catalogue")


def fake_hub(monkeypatch: pytest.MonkeyPatch, files: dict[str, Path], kept: dict[str, Path] | None = None) -> None:
    """A hub that has `files`, and a cache with `kept`."""

    def get_hf_file_metadata(url: str) -> None:
        if url not in files:
            raise OSError(f"cannot reach the hub for {url}\nmore")

    members = {
        "hf_hub_url": lambda _name, file: file,
        "get_hf_file_metadata": get_hf_file_metadata,
        "hf_hub_download": lambda _name, file: str(files[file]),
        "try_to_load_from_cache": lambda _name, file: str(kept[file]) if kept and file in kept else None,
    }
    hub = ModuleType("huggingface_hub")
    vars(hub).update(members)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)


def test_a_hub_id_offline_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_hub(monkeypatch, {})
    refused("meta-llama/Llama-3.1-8B", "huggingface.co/meta-llama/Llama-3.1-8B", "cannot reach the hub", "offline")


@pytest.mark.parametrize("online", [True, False])
def test_a_hub_id_is_read_with_its_revision_as_source(
    online: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "snapshots" / "abc123"
    folder.mkdir(parents=True)
    there = {"config.json": write(folder / "config.json", json.dumps(CONFIG))}
    fake_hub(monkeypatch, there if online else {}, kept=there)
    files = read_model_files("meta-llama/Llama-3.1-8B")
    assert files.config == CONFIG
    assert files.quantisation is None
    assert files.source.text == "https://huggingface.co/meta-llama/Llama-3.1-8B/blob/abc123/config.json"


def test_mistrals_own_params_are_read(tmp_path: Path) -> None:
    # Mixtral 8x7B's params.json (mistralai/Mixtral-8x7B-v0.1)
    params = {"dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32, "n_kv_heads": 8}
    params |= {"vocab_size": 32000, "moe": {"num_experts_per_tok": 2, "num_experts": 8}}  # type: ignore[dict-item]
    write(tmp_path / "params.json", json.dumps(params))
    config = read_model_files(tmp_path).config
    assert (config["model_type"], config["num_local_experts"], config["hidden_size"]) == ("mixtral", 8, 4096)


def test_params_beyond_a_plain_text_model_ask_for_a_config() -> None:
    with pytest.raises(BadInput, match="Vision_encoder"):
        from_mistral_params({"dim": 1, "vision_encoder": {"hidden_size": 1024}}, Path("params.json"))
