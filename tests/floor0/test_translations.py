"""Every sentence has its translation: `python tools/translations.py` brings the catalogues up to date."""

from __future__ import annotations

import ast
import json
import runpy
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message

from bide.i18n import LANGUAGES, LOCALES

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "translations.py"))
TRANSLATED = sorted(set(LANGUAGES) - {"en"})


@pytest.fixture(scope="module")
def found() -> Catalog:
    catalogue: Catalog = TOOL["extracted"]()
    return catalogue


def test_every_language_that_bide_names_has_a_catalogue() -> None:
    assert TOOL["languages"]() == TRANSLATED


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_message_is_untranslated_outdated_or_broken(language: str, found: Catalog) -> None:
    assert "\n".join(TOOL["problems"](language, found)) == ""


def test_every_message_is_a_literal_that_can_be_extracted() -> None:
    assert list(TOOL["unreadable"]()) == []


def test_no_text_is_kept_by_a_module_for_all_languages() -> None:
    assert list(TOOL["kept_by_modules"]()) == []
    module = ast.parse("A = _('a')\n\ndef f():\n    return _('b')\n\nclass C:\n    D = {1: ngettext('c', 'd', 2)}")
    assert list(TOOL["said_at_import"](module)) == [1, 7]


def test_templates_clicks_own_words_and_data_are_among_the_messages(found: Catalog) -> None:
    assert found.get("Not counted") is not None  # report/templates/plan.html.j2
    assert found.get("Show this message and exit.") is not None
    profile = json.loads((LOCALES.parent / "physics" / "data" / "profile.json").read_text(encoding="utf-8"))
    assert found.get(profile["summary"]) is not None


@pytest.mark.parametrize(
    ("source", "text", "wrong"),
    [
        ("{n:,} of {all}", "{all}: {n:,}", False),
        ("{n:,} of {all}", "{n} of {all}", True),
        ("{n} GPUs", "GPU", True),
        ("see `bide gpus`", "xem `bide gpus`", False),
        ("see `bide gpus`", "xem `bide gpu`", True),
        ("give --tp", "hãy dùng --pp", True),
        ("  a token", "một token", True),
        ("[[a, b], ...] or {x", "[[a, b], ...] hoặc {x", False),
    ],
)
def test_a_translation_keeps_placeholders_commands_and_indents(source: str, text: str, wrong: bool) -> None:
    assert bool(list(TOOL["faults"](Message(source, text), 1))) is wrong


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("{n:,} {n:токен|токена|токенов}", False),
        ("{n:,} {n:токен|токенов}", True),
        ("{n:,} {m:токен|токена|токенов}", True),
        ("{n:токен|токена|токенов}", True),
    ],
)
def test_a_noun_in_a_translation_agrees_with_a_number_of_the_message(text: str, wrong: bool) -> None:
    assert bool(list(TOOL["faults"](Message("{n:,} tokens", text), 3))) is wrong


def test_a_plural_has_all_forms_of_its_language() -> None:
    message = Message(("{n} run", "{n} runs"), ("{n} прогон", "{n} прогона"))
    assert list(TOOL["faults"](message, 3)) == ["3 forms are needed: '{n} run | {n} runs'"]
    message.string = ("{n} прогон", "{n} прогона", "{n} прогонов")
    assert list(TOOL["faults"](message, 3)) == []
