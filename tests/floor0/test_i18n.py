"""Every sentence passes one door, which other languages open."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import babel
import pytest
from babel.numbers import format_decimal, format_percent

from bide import i18n
from bide.i18n import (
    _,
    cached_by_language,
    language,
    localised,
    ngettext,
    number_marks,
    numeral,
    speaking,
    use_language,
)
from bide.runners import processes


@pytest.fixture(autouse=True)
def _back_to_english() -> Iterator[None]:
    yield
    use_language("en")


_HEADER = (
    "Content-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : "
    "n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\n"
)


def write_catalogue(folder: Path, language: str, messages: dict[str, str]) -> None:
    """A compiled gettext catalogue (.mo): header, two tables of (length, offset), the texts."""
    pairs = sorted({"": _HEADER, **messages}.items())
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


@pytest.fixture
def russian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = {
        "weights": "веса",
        "{n:,} bytes, {share:.1%}": "{n:,} байт, {share:.1%}",
        "{n:,} request\0{n:,} requests": "{n:,} запрос\0{n:,} запроса\0{n:,} запросов",
        "{n} tokens": "{n} {n:токен|токена|токенов}",
    }
    write_catalogue(tmp_path, "ru", messages)
    monkeypatch.setattr(i18n, "LOCALES", tmp_path)


@pytest.mark.usefixtures("russian")
def test_a_catalogue_translates_and_keeps_what_it_lacks() -> None:
    use_language("ru-RU")
    assert (_("weights"), _("pool"), language()) == ("веса", "pool", "ru")


def test_a_language_nobody_translated_stays_english() -> None:
    use_language("tlh")
    assert (_("weights"), language(), number_marks()) == ("weights", "en", {})


@pytest.mark.usefixtures("russian")
@pytest.mark.parametrize("variable", ["BIDE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"])
def test_the_environment_chooses_where_nothing_is_said(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in ("BIDE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(other, raising=False)
    use_language(None)
    assert _("weights") == "weights"
    monkeypatch.setenv(variable, "ru_RU.UTF-8")
    use_language(None)
    assert _("weights") == "веса"


@pytest.mark.usefixtures("russian")
def test_the_plural_is_the_language_s_own() -> None:
    use_language("ru")
    said = [ngettext("{n:,} request", "{n:,} requests", n).format(n=n) for n in (1, 21, 2, 5, 11, 1003)]
    assert said == ["1 запрос", "21 запрос", "2 запроса", "5 запросов", "11 запросов", "1\u00a0003 запроса"]


@pytest.mark.usefixtures("russian")
def test_a_text_writes_its_numbers_as_its_language_does() -> None:
    use_language("ru")
    said = _("{n:,} bytes, {share:.1%}").format(n=1234567, share=0.125)
    assert said == "1\u00a0234\u00a0567 байт, 12,5\u00a0%"


@pytest.mark.usefixtures("russian")
def test_a_noun_agrees_with_its_number_where_english_has_one_form() -> None:
    use_language("ru")
    said = [_("{n} tokens").format(n=n).split()[-1] for n in (1, 8192, 4096.0, 2.5, 1000.4, "1001")]
    # 2.5 are two and a half "токена"; 1,000.4 is shown, and agrees, as 1,000; a text is not looked into.
    assert said == ["токен", "токена", "токенов", "токена", "токенов", "токенов"]


@pytest.mark.usefixtures("russian")
def test_a_text_put_together_from_two_writes_its_numbers_so_too() -> None:
    use_language("ru")
    assert ("  " + _("weights") + ": {n:,}").format(n=1000) == "  веса: 1\u00a0000"


@pytest.mark.usefixtures("russian")
def test_what_is_no_number_or_has_no_specification_is_left_alone() -> None:
    use_language("ru")
    text = _("{name} {port} {on} {given!r} {many}")
    said = text.format(name="vllm 0.33.0", port=8000, on=True, given="1.5", many=[1.5])
    assert said == "vllm 0.33.0 8000 True '1.5' [1.5]"


def test_numbers_are_those_of_unicode_cldr() -> None:
    for code in ("en", "ru", "vi"):
        locale = babel.Locale(code)
        with speaking(code):
            assert numeral(1234567.5, ",.1f") == format_decimal(1234567.5, locale=locale)
            assert numeral(0.25, ".0%") == format_percent(0.25, locale=locale)


def test_a_number_that_was_written_already_is_put_into_the_language() -> None:
    with speaking("vi"):
        assert localised("1,234.5") == "1.234,5"
    assert localised("1,234.5") == "1,234.5"


@pytest.mark.usefixtures("russian")
def test_requests_answered_at_once_each_speak_their_own() -> None:
    async def answer(code: str) -> tuple[str, str]:
        use_language(code)
        await asyncio.sleep(0)
        return _("weights"), await asyncio.to_thread(_, "weights")

    async def both() -> list[tuple[str, str]]:
        return list(await asyncio.gather(answer("ru"), answer("en"), answer("ru")))

    assert asyncio.run(both()) == [("веса", "веса"), ("weights", "weights"), ("веса", "веса")]
    assert language() == "en"


def test_a_language_spoken_for_a_while_ends_with_it() -> None:
    with speaking("vi"):
        with speaking("en"):
            assert language() == "en"
        assert language() == "vi"
    assert language() == "en"


def test_worker_processes_speak_the_language_of_their_parent() -> None:
    with speaking("vi"):
        assert list(processes(1)(partial(numeral, spec=",.1f"), [1234.5])) == ["1.234,5"]


class Worded:
    """Travels as what it is made from, like the candidates of a plan."""

    def __init__(self, number: float) -> None:
        self.text = numeral(number, ",.1f")
        self.number = number

    def __reduce__(self) -> tuple[object, ...]:
        return Worded, (self.number,)


def test_what_a_process_sends_back_is_worded_in_the_language_of_who_asked() -> None:
    with speaking("vi"):
        (made,) = processes(1)(Worded, [1234.5])
    assert made.text == "1.234,5"


@pytest.mark.usefixtures("russian")
def test_what_is_kept_is_kept_for_each_language() -> None:
    made: list[str] = []

    @cached_by_language(8)
    def said(name: str) -> str:
        made.append(name)
        return f"{name}: {_('weights')}"

    with speaking("ru"):
        assert said("a") == said("a") == "a: веса"
    assert said("a") == said("a") == "a: weights"
    assert made == ["a", "a"]
