"""Files from outside: bounded, kept apart, forgotten; and no file, however made, breaks what reads it."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from bide.errors import BideError
from bide.web import answers, tasks
from bide.web.faults import Busy, NotThere, TooLarge
from bide.web.folder import PrivateFolder
from bide.web.json_body import read_json
from bide.web.names import FILE
from bide.web.settings import Limits
from bide.web.state import State
from bide.web.uploads import Uploads, harmless
from web_client import LLAMA, SETTINGS, cli, fault, upload


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def test_an_upload_is_there_until_it_is_deleted(client: TestClient) -> None:
    sent = upload(client, b"abc", "trace.csv")
    address = f"/api/v1/uploads/{sent['upload']}"
    assert client.get(address).json() == {"schema": "bide.upload/1", **sent, "name": "trace.csv", "size_bytes": 3}
    kept = client.app.state.bide.uploads.get(sent["upload"])  # type: ignore[attr-defined]
    assert kept.path.parent.stat().st_mode & 0o077 == 0
    assert client.delete(address).status_code == 204
    assert not kept.path.exists()
    fault(client.get(address), 404)


def test_uploads_are_forgotten_in_time(tmp_path: Path) -> None:
    now = 0.0
    uploads = Uploads(tmp_path, Limits(upload_s=3600), clock=lambda: now)
    kept = asyncio.run(uploads.keep("a.csv", chunks(b"x")))
    now = 3599.0
    assert uploads.get(kept.id) == kept
    now = 3600.0
    with pytest.raises(NotThere):
        uploads.get(kept.id)
    assert not list(tmp_path.iterdir())


def test_what_is_too_large_leaves_nothing(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path, Limits(upload_bytes=10, all_uploads_bytes=15))
    with pytest.raises(TooLarge):
        asyncio.run(uploads.keep("a", chunks(b"123456", b"78901")))
    assert not list(tmp_path.iterdir())
    asyncio.run(uploads.keep("a", chunks(b"1234567890")))
    with pytest.raises(Busy):
        asyncio.run(uploads.keep("b", chunks(b"123456")))
    assert len(list(uploads)) == 1


def test_uploads_that_come_at_once_share_the_room(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path, Limits(upload_bytes=10, all_uploads_bytes=15))

    async def slow(*parts: bytes) -> AsyncIterator[bytes]:
        for part in parts:
            yield part
            await asyncio.sleep(0)

    async def both() -> list[Any]:
        sent = (uploads.keep(name, slow(b"12345", b"6789")) for name in "ab")
        return await asyncio.gather(*sent, return_exceptions=True)

    assert sorted(type(each).__name__ for each in asyncio.run(both())) == ["Busy", "Upload"]  # 9 + 9 > 15
    asyncio.run(uploads.keep("c", chunks(b"123456")))  # 9 + 6: what was refused takes no room


def test_everything_is_gone_with_the_server() -> None:
    state = State(replace(SETTINGS))
    asyncio.run(state.uploads.keep("a", chunks(b"x")))
    state.close()
    assert not state.folder.exists()


def test_what_a_killed_server_left_is_deleted_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    lives = PrivateFolder()
    left = tmp_path / "bide-serve-left"
    left.mkdir()
    (left / "in-use").touch()  # as it is once the process that locked it is gone
    (left / "trace.csv").touch()
    other = tmp_path / "bide-serve-other"
    other.mkdir()  # without the mark: none of ours
    next_one = PrivateFolder()
    assert sorted(tmp_path.iterdir()) == sorted([lives.path, next_one.path, other])
    lives.close()
    next_one.close()
    assert list(tmp_path.iterdir()) == [other]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "multipart/form-data; boundary=b"),
        (b"--b\r\n", "multipart/form-data; boundary=b"),
        (b"--b--\r\n", "multipart/form-data; boundary=b"),
        (b"garbage", "multipart/form-data; boundary=b"),
        (
            b'--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx',
            "multipart/form-data; boundary=b",
        ),
        (b"--b\r\n" + b"X: " + b"y" * 20_000 + b"\r\n\r\nx\r\n--b--\r\n", "multipart/form-data; boundary=b"),
        (b"{}", "application/json"),
        (b"x", "multipart/form-data"),
    ],
)
def test_forms_without_a_file_are_refused(client: TestClient, body: bytes, kind: str) -> None:
    answer = client.post("/api/v1/uploads", content=body, headers={"content-type": kind})
    assert answer.status_code in (400, 422), answer.text
    fault(answer, answer.status_code)


def test_other_fields_of_a_form_are_passed_over(client: TestClient) -> None:
    answer = client.post("/api/v1/uploads", data={"note": "x"}, files={"file": ("a.csv", b"y" * 200_000)})
    assert answer.json()["size_bytes"] == 200_000


@given(st.text(max_size=200))
def test_names_are_harmless(name: str) -> None:
    made = harmless(name)
    assert 0 < len(made) <= 80
    assert made.isascii()
    assert made.isprintable()
    assert not set(made) & set("/\\\0: ")
    assert not made.startswith((".", "-")) or made[0] == "-"
    assert harmless(made) == made


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_json_that_is_taken_can_be_given_back(value: object) -> None:
    try:
        found = read_json(json.dumps(value).encode("utf-8", "surrogatepass"))
    except BideError:
        return
    json.dumps(found, allow_nan=False).encode("utf-8")


@settings(max_examples=60)
@given(st.binary(max_size=400) | json_values.map(lambda value: json.dumps(value).encode("utf-8", "replace")))
def test_any_config_is_read_or_refused(content: bytes) -> None:
    with_config(content)


def with_config(content: bytes) -> Any:
    """The answer to `memory` of an upload, or the error."""
    state = State(SETTINGS)
    try:
        sent = asyncio.run(state.uploads.keep("config.json", chunks(content)))
        return answers.memory({"deployment": {**LLAMA, "model": {"upload": sent.id}}}, state)
    except BideError as error:
        return error
    finally:
        state.close()


CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 100,
}
WILD: tuple[object, ...] = (0, -1, 1, 3, 10**6, 10**12, 10**17, 10**30, 0.5, 1e300, True, None, "8", [], {}, [1] * 50)
NUMBERS = st.sampled_from(WILD)


@settings(max_examples=100)
@given(
    st.dictionaries(st.sampled_from([*CONFIG, "num_key_value_heads", "head_dim", "max_position_embeddings"]), NUMBERS)
)
def test_configs_with_wild_numbers_are_read_or_refused(changes: dict[str, Any]) -> None:
    with_config(json.dumps({**CONFIG, **changes}).encode())


def bomb() -> bytes:
    """A megabyte that unpacks to a gigabyte."""
    return gzip.compress(b"\0" * 2**20, 9) * 1000


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", b"a,b\n" * 1000)
    return out.getvalue()


TRACE = b"arrival_s,prompt_tokens,output_tokens\n" + b"".join(b"%d,%d,%d\n" % (n, 100 + n, 10 + n) for n in range(200))
FILES = (
    b"",
    b"\0" * 1000,
    zipped(),
    b"PAR1" + b"\xff" * 100 + b"PAR1",
    gzip.compress(TRACE, mtime=0)[:-20],
    gzip.compress(TRACE, mtime=0)[:40],
    b"\x1f\x8b" + b"x" * 50,
    b"[" * 1500,
    b'{"a":' * 1500,
    b"arrival_s,prompt_tokens,output_tokens\n1e999,nan,-5\n" * 200,
    b"arrival_s,prompt_tokens,output_tokens\n0,99999999999999999999999,1\n" * 200,
    "время,слова\n".encode("utf-16"),
    b'{"requests": [null, 5, "x"]}',
    b"a,a,a\n" * 300,
)


@pytest.fixture
def job_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    return tmp_path


def read_all(content: bytes, name: str) -> list[dict[str, Any]]:
    """What the jobs that read files make of one; anything but a BideError escapes."""
    Path(name).write_bytes(content)
    file, made = {FILE: name}, []
    asks: dict[str, dict[str, Any]] = {
        "describe": {"workload": file},
        "measure": {"results": [file]},
        "compare": {"a": file, "b": file},
        "calibrate": {"results": [file], "log": file, "deployment": LLAMA},
    }
    for kind, ask in asks.items():
        try:
            made.append(tasks.done(kind, ask, False, lambda *_said: None, Path("out")))
        except BideError:
            continue
    return made


@pytest.mark.parametrize("content", FILES, ids=range(len(FILES)))
@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl.gz", "a.parquet", "a.yaml"])
def test_broken_files_are_refused(job_folder: Path, content: bytes, name: str) -> None:
    deep = name.endswith(".yaml") and content.startswith((b"[[", b'{"a":{'))
    read_all(content[:200] if deep else content, name)  # PyYAML looks for a key in a thousand brackets, for seconds


def test_a_good_trace_is_described_as_by_the_command_line(job_folder: Path) -> None:
    made = read_all(TRACE, "trace.csv")
    assert made[0] == cli("workload", "describe", "trace.csv")
    packed = read_all(gzip.compress(TRACE), "packed.csv.gz")
    assert {**packed[0], "reading": None} == {**made[0], "reading": None}


@settings(max_examples=60)
@given(content=st.binary(max_size=300) | json_values.map(lambda value: json.dumps(value).encode("utf-8", "replace")))
def test_any_file_is_read_or_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("job"))
    try:
        Path("out").mkdir()
        read_all(content, "file.json")
    finally:
        os.chdir(before)
