"""Every sentence passes one door, which other languages open."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from bide import i18n
from bide.i18n import _, use_language


@pytest.fixture(autouse=True)
def _back_to_english() -> Iterator[None]:
    yield
    use_language("en")


def write_catalogue(folder: Path, language: str, messages: dict[str, str]) -> None:
    """A compiled gettext catalogue (.mo): header, two tables of (length, offset), the texts."""
    pairs = sorted({"": "Content-Type: text/plain; charset=UTF-8\n", **messages}.items())
    originals, translations = ([text.encode() for text in side] for side in zip(*pairs, strict=True))
    start = 28 + 16 * len(pairs)
    rows, body = [], b""
    for text in [*originals, *translations]:
        rows.append(struct.pack("<2I", len(text), start + len(body)))
        body += text + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    target = folder / language / "LC_MESSAGES" / "bide.mo"
    target.parent.mkdir(parents=True)
    target.write_bytes(head + b"".join(rows) + body)


def test_english_is_the_text_itself() -> None:
    use_language("en_GB.UTF-8")
    assert _("weights") == "weights"


def test_a_catalogue_translates_and_keeps_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_catalogue(tmp_path, "vi", {"weights": "trọng số"})
    monkeypatch.setattr(i18n, "_LOCALES", tmp_path)
    use_language("vi-VN")
    assert (_("weights"), _("pool")) == ("trọng số", "pool")


def test_a_language_nobody_translated_stays_english() -> None:
    use_language("tlh")
    assert _("weights") == "weights"


def test_the_environment_chooses_where_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_catalogue(tmp_path, "ru", {"weights": "веса"})
    monkeypatch.setattr(i18n, "_LOCALES", tmp_path)
    monkeypatch.setenv("BIDE_LANG", "ru")
    use_language(None)
    assert _("weights") == "веса"
