"""The catalogues of `src/bide/locale`: kept beside the source, filled in, compiled and checked.

    python tools/translations.py update                   new messages in, those no longer used out
    python tools/translations.py export vi DIR [SIZE]     what is not translated, as JSON files of SIZE messages
    python tools/translations.py merge vi FILE...         such files, filled in
    python tools/translations.py compile                  the .mo files that bide reads
    python tools/translations.py check                    exit code 1 where anything is missing or wrong
    python tools/translations.py extract FILE.pot         a template for another language

docs/translating.md says how to use them. Needs Babel.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "bide"
LOCALES = SOURCE / "locale"
CLICK = Path(__file__).with_name("click_messages.txt")
"""What click itself says, `one | many` where it counts; it asks gettext for them."""
PROFILE = SOURCE / "physics" / "data" / "profile.json"
"""Its `summary` is shown with every time that comes from it (`i18n.translated`)."""
TEMPLATES = [("**.j2", "jinja2")]
TEXTS = {"_": 1, "ngettext": 2}
"""Functions of `bide.i18n` and how many of their first arguments are texts."""
KEPT = re.compile(r"`[^`]*`|(?<![\w}-])--?[a-z][\w-]*|https?://\S+")
"""What no translation changes: quoted commands, flags, addresses."""


def languages() -> list[str]:
    """The languages that have a folder."""
    return sorted(path.name for path in LOCALES.iterdir() if path.is_dir())


def extracted() -> Catalog:
    """Every message of the source, by file."""
    catalogue = Catalog(project="bide", charset="utf-8")
    for path, call in calls():
        texts = [node.value for node in said(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        name = path.relative_to(ROOT).as_posix()
        catalogue.add(texts[0] if len(texts) == 1 else tuple(texts), locations=[(name, 0)])
    for file, _line, message, _comments, _context in extract_from_dir(SOURCE, TEMPLATES):
        catalogue.add(message, locations=[(f"src/bide/{file}", 0)])
    profile = json.loads(PROFILE.read_text(encoding="utf-8"))
    catalogue.add(profile["summary"], locations=[("profile", 0)])
    for line in CLICK.read_text(encoding="utf-8").splitlines():
        one, _bar, many = line.encode().decode("unicode_escape").partition(" | ")
        catalogue.add((one, many) if many else one, locations=[("click", 0)])
    return catalogue


def calls() -> Iterator[tuple[Path, ast.Call]]:
    """Every call of the functions in TEXTS, also of those within f-strings (which Babel passes over)."""
    for path, module in modules():
        yield from ((path, node) for node in ast.walk(module) if isinstance(node, ast.Call) and _says(node))


def modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def _says(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in TEXTS


def said(call: ast.Call) -> list[ast.expr]:
    """Its texts."""
    assert isinstance(call.func, ast.Name)
    return call.args[: TEXTS[call.func.id]]


def po_path(language: str) -> Path:
    return LOCALES / language / "LC_MESSAGES" / "bide.po"


def stored(language: str) -> Catalog:
    """The catalogue as it is kept; an empty one where there is none yet."""
    path = po_path(language)
    if not path.exists():
        return Catalog(locale=language, project="bide", charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=language)


def store(language: str, found: Catalog, translated: Catalog) -> None:
    """Write the messages `found` in the source with what `translated` says of them; nothing else stays."""
    made = Catalog(locale=language, project="bide", charset="utf-8")
    for message in messages(found):
        known = translated.get(message.id)
        string = known.string if known and known.id == message.id else ""
        made.add(message.id, string, locations=message.locations, auto_comments=message.auto_comments)
    for message in messages(made):
        message.flags.clear()
    po_path(language).parent.mkdir(parents=True, exist_ok=True)
    po_path(language).write_bytes(po_text(made))


def po_text(catalogue: Catalog) -> bytes:
    """Without dates, versions and lines, so that a catalogue changes only where its messages do."""
    out = io.BytesIO()
    write_po(out, catalogue, width=110, omit_header=True, include_lineno=False, sort_by_file=True)
    head = f'msgid ""\nmsgstr ""\n"Language: {catalogue.locale}\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    return head.encode() + f'"Plural-Forms: {catalogue.plural_forms}\\n"\n\n'.encode() + out.getvalue()


def messages(catalogue: Catalog) -> list[Message]:
    """All but the header."""
    return [message for message in catalogue if message.id]


class Compact(Catalog):
    """A catalogue whose header holds what gettext reads of it, and no dates or versions."""

    @property  # type: ignore[misc]  # read-only is enough
    def mime_headers(self) -> list[tuple[str, str]]:
        return [("Content-Type", "text/plain; charset=utf-8"), ("Plural-Forms", self.plural_forms)]


def compiled(language: str) -> bytes:
    """The .mo file of a catalogue as it is kept: the same bytes for the same translations."""
    made = Compact(locale=language)
    for message in messages(stored(language)):
        made.add(message.id, message.string)
    out = io.BytesIO()
    write_mo(out, made)
    return out.getvalue()


def forms_of(message: Message) -> tuple[str, ...]:
    """The translation, or its forms of the plural; empty texts where there is none."""
    given = message.string if isinstance(message.string, tuple | list) else (message.string,)
    return tuple(text or "" for text in given)


def is_filled(message: Message) -> bool:
    return all(forms_of(message))


def export(language: str, folder: Path, size: int) -> list[Path]:
    """What is not translated as `todo_<language>_NN.json`: message -> "", or `one | many` -> a list of forms."""
    catalogue = stored(language)
    missing = [message for message in messages(catalogue) if not is_filled(message)]
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for start in range(0, len(missing), size):
        part = {
            json_key(m.id): [""] * catalogue.num_plurals if m.pluralizable else ""
            for m in missing[start : start + size]
        }
        paths.append(folder / f"todo_{language}_{start // size + 1:02}.json")
        paths[-1].write_text(json.dumps(part, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return paths


def json_key(message_id: str | Sequence[str]) -> str:
    return message_id if isinstance(message_id, str) else " | ".join(message_id)


def merge(language: str, files: Iterable[Path]) -> list[str]:
    """Put filled-in files of `export` into the catalogue; what is unknown or wrong is left out and told."""
    catalogue = stored(language)
    by_key = {json_key(message.id): message for message in messages(catalogue)}
    problems = []
    for path in files:
        for key, value in json.loads(path.read_text(encoding="utf-8")).items():
            problems += _merged(by_key.get(key), value, key, catalogue.num_plurals)
    store(language, extracted(), catalogue)
    return problems


def _merged(message: Message | None, value: str | list[str], key: str, forms: int) -> list[str]:
    if message is None:
        return [f"not in use: {key!r}"]
    if not value or not all(value):
        return [f"empty: {key!r}"]
    before, message.string = message.string, tuple(value) if isinstance(value, list) else value
    wrong = list(faults(message, forms))
    if wrong:
        message.string = before
    return wrong


def faults(message: Message, forms: int) -> Iterator[str]:
    """What is wrong with a translation: forms of the plural, placeholders, commands and flags, the ends."""
    ids = message.id if isinstance(message.id, tuple | list) else (message.id, message.id)
    strings = forms_of(message)
    name = json_key(message.id)
    if message.pluralizable and len(strings) != forms:
        yield f"{forms} forms are needed: {name!r}"
    for text in strings:
        if not all(name in _names(ids[1]) and len(spec.split("|")) == forms for name, spec in counted(text)):
            yield f"a form for each number is needed: {name!r}: {text!r}"
        if placeholders(text) != placeholders(ids[1]):
            yield f"placeholders differ: {name!r}: {text!r}"
        if sorted(KEPT.findall(text)) != sorted(KEPT.findall(ids[1])):
            yield f"commands, flags or addresses differ: {name!r}: {text!r}"
        if _ends(text) != _ends(ids[1]):
            yield f"spaces or lines differ: {name!r}: {text!r}"


def placeholders(text: str) -> set[str]:
    """`{name:,}` and the like, as written; not the forms of nouns that a translation adds (`counted`)."""
    return {f"{name}!{conversion}:{spec}" for name, spec, conversion in _fields(text) if "|" not in spec}


def counted(text: str) -> list[tuple[str, str]]:
    """`{name:one|few|many}`: the noun that agrees with a number, which `bide.i18n` chooses; (name, forms)."""
    return [(name, spec) for name, spec, _conversion in _fields(text) if "|" in spec]


def _names(text: str) -> set[str]:
    return {name for name, _spec, _conversion in _fields(text)}


def _fields(text: str) -> list[tuple[str, str, str | None]]:
    try:
        parsed = list(Formatter().parse(text))
    except ValueError:
        return []
    return [(name, spec or "", conversion) for _text, name, spec, conversion in parsed if name is not None]


def _ends(text: str) -> tuple[str, str, int]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :], text.count("\n")


def problems(language: str, found: Catalog) -> Iterator[str]:
    """Everything that keeps a catalogue from being whole, a line each."""
    catalogue = stored(language)
    kept, used = ({json_key(m.id): m for m in messages(each)} for each in (catalogue, found))
    yield from (f"not in the catalogue, run `update`: {key!r}" for key in used if key not in kept)
    yield from (f"obsolete, run `update`: {key!r}" for key in kept if key not in used)
    for key, message in kept.items():
        if not is_filled(message):
            yield f"not translated: {key!r}"
        else:
            yield from faults(message, catalogue.num_plurals)
        if message.fuzzy:
            yield f"fuzzy: {key!r}"
    path = po_path(language).with_suffix(".mo")
    if not path.exists() or path.read_bytes() != compiled(language):
        yield f"{path.name} is not what the catalogue says, run `compile`"


def unreadable() -> Iterator[str]:
    """Calls whose message is no literal, which nobody can extract."""
    for path, call in calls():
        if not all(isinstance(text, ast.Constant) for text in said(call)):
            yield f"{path}:{call.lineno}: not a literal: {ast.unparse(call)}"


def kept_by_modules() -> Iterator[str]:
    """Texts in the language of whoever imports a module first; a command's module has only one user."""
    for path, module in modules():
        if not path.is_relative_to(SOURCE / "cli"):
            yield from (f"{path}:{line}: said as the module is imported" for line in said_at_import(module))


def said_at_import(node: ast.AST) -> Iterator[int]:
    """The lines of texts outside of functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and _says(child):
            yield child.lineno
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from said_at_import(child)


def update() -> None:
    found = extracted()
    for language in languages():
        store(language, found, stored(language))
        left = sum(not is_filled(message) for message in messages(stored(language)))
        print(f"{language}: {len(messages(found))} messages, {left} to translate")


def compile_all() -> None:
    for language in languages():
        po_path(language).with_suffix(".mo").write_bytes(compiled(language))


def check() -> int:
    found = extracted()
    lines = [
        *unreadable(),
        *kept_by_modules(),
        *(f"{name}: {line}" for name in languages() for line in problems(name, found)),
    ]
    print("\n".join(lines) or f"{len(messages(found))} messages, whole in {', '.join(languages())}")
    return 1 if lines else 0


def main(args: Sequence[str]) -> int:
    match args:
        case ["update"]:
            update()
        case ["compile"]:
            compile_all()
        case ["check"]:
            return check()
        case ["extract", path]:
            Path(path).write_bytes(po_text(extracted()))
        case ["export", language, folder, *size]:
            print(*export(language, Path(folder), int(size[0]) if size else 150), sep="\n")
        case ["merge", language, *files]:
            lines = merge(language, map(Path, files))
            print(*lines, sep="\n")
            compile_all()
            return 1 if lines else 0
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
