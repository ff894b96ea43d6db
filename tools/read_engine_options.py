"""Write src/bide/facts/data/options/<engine>.json: the command-line options of vLLM and SGLang by release.

Reads unpacked wheels as text (nothing of them is run): calls of `add_argument`, and the fields of the classes
that both engines make options of, by the rules of vLLM's `get_kwargs` and SGLang's `add_cli_args_from_dataclass`.
Names, kinds of value and choices are kept, no descriptions. A choice that is computed is left free.

    python tools/read_engine_options.py vllm 0.9.2=unpacked/v0.9.2 0.33.0=unpacked/v0.33.0
    python tools/read_engine_options.py sglang 0.5.23=unpacked/s0.5.23

The folders hold the wheel's top package (`vllm/`, `sglang/`); releases must be given oldest first.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

OPTIONS = Path(__file__).parents[1] / "src/bide/facts/data/options"
READ = {
    "vllm": (
        "engine/arg_utils.py",
        "entrypoints/openai/cli_args.py",
        "entrypoints/common/cli_args.py",
        "entrypoints/launchers/cli_args.py",
        "entrypoints/cli/serve.py",
        "utils/argparse_utils.py",
    ),
    "sglang": ("srt/server_args.py", "srt/arg_groups/fields/*.py"),
}
KNOWN = {
    "vllm": (
        "config.py",
        "config/*.py",
        "v1/attention/backends/registry.py",
        "engine/arg_utils.py",
        "model_executor/layers/quantization/__init__.py",
        "model_executor/model_loader/__init__.py",
    ),
    "sglang": ("srt/arg_groups/*.py", "srt/server_args.py", "srt/constants.py"),
}
ABOUT = (
    "Command-line options by release. Each option is a list of spans: kind of value, choices, first and last release "
    "of those read that has it so (no last: the newest read). `open`: the choices are those documented, others are "
    "taken. A release that was not read has the options of the newest read before it. `switch` takes no value; "
    "`bool` an optional true or false; `optional` any optional value."
)
LAUNCH = {
    "vllm": {"launch": ["vllm", "serve"], "positional": True, "underscores": True, "required": []},
    "sglang": {
        "launch": ["python", "-m", "sglang.launch_server"],
        "positional": False,
        "underscores": False,
        "required": ["--model-path"],
    },
}
UNIONS, WRAPPERS = ("Optional", "Union"), ("Annotated", "A", "SkipValidation")
KINDS = {"int": "int", "float": "float", "str": "text", "human_readable_int": "tokens"}
KINDS |= {"human_readable_int_or_auto": "tokens", "json_list_type": "json", "loads": "json"}


@dataclass(frozen=True)
class Option:
    kind: str
    choices: tuple[str, ...] = ()
    open: bool = False
    """Other values are taken too: a plugin's."""


class Wheel:
    """The parsed files of an unpacked wheel: what is declared, and the names that declarations refer to."""

    def __init__(self, root: Path, engine: str) -> None:
        self.root = root / engine
        self.declaring = self._trees(READ[engine])
        self.values: dict[str, ast.expr] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        for tree in [*self._trees(KNOWN[engine]), *self.declaring]:
            self._remember(tree)

    def _trees(self, patterns: tuple[str, ...]) -> list[ast.Module]:
        paths = [path for pattern in patterns for path in sorted(self.root.glob(pattern))]
        return [ast.parse(path.read_text(encoding="utf-8")) for path in paths]

    def _remember(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, node)
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                self.values.setdefault(statement.targets[0].id, statement.value)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
                self.values.setdefault(statement.target.id, statement.value)

    def fields(self, name: str) -> Iterator[tuple[str, ast.expr]]:
        """The annotated fields of a class, its bases' first."""
        found = self.classes.get(name)
        for base in found.bases if found else ():
            if isinstance(base, ast.Name):
                yield from self.fields(base.id)
        for item in found.body if found else ():
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                yield item.target.id, item.annotation

    def parts(self, hint: ast.expr, depth: int = 0) -> list[ast.expr]:
        """The members of a union, through aliases, `Annotated` and `Optional`."""
        if isinstance(hint, ast.BinOp):
            return [*self.parts(hint.left, depth), *self.parts(hint.right, depth)]
        if isinstance(hint, ast.Name) and hint.id in self.values and depth < 5:
            return self.parts(self.values[hint.id], depth + 1)
        if isinstance(hint, ast.Subscript) and _called(hint.value) in (*UNIONS, *WRAPPERS):
            inner = hint.slice.elts if isinstance(hint.slice, ast.Tuple) else [hint.slice]
            inner = inner[:1] if _called(hint.value) in WRAPPERS else inner
            return [part for item in inner for part in self.parts(item, depth)]
        return [hint]

    def typed(self, hint: ast.expr, name: str, long_numbers: set[str], bools: str = "toggle") -> Option:
        """The option that a field of this type becomes."""
        parts = self.parts(hint)
        heads = [_called(part.value) if isinstance(part, ast.Subscript) else _called(part) for part in parts]
        if "bool" in heads:
            return Option("optional" if {"bool", "str"} <= set(heads) else bools)
        if "Literal" in heads:
            choices = tuple(value for part in parts if isinstance(part, ast.Subscript) for value in self.listed(part))
            numbers = bool(choices) and all(choice.isdecimal() for choice in choices)
            return Option("int" if numbers else "text", choices, open="str" in heads)
        if {"list", "List", "tuple", "Tuple", "set", "Set"} & set(heads):
            return Option("list")
        for head in ("int", "float"):
            if head in heads:
                return Option("tokens" if name in long_numbers else head)
        whole = any(head in self.classes for head in heads) or {"dict", "Dict"} & set(heads)
        return Option("json" if whole and "str" not in heads else "text")

    def listed(self, node: ast.expr | None, depth: int = 0) -> tuple[str, ...]:
        """The strings of a literal list, through names, `get_args`, `list` and `+`; empty where they are computed."""
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            items = [self.listed(item, depth) for item in node.elts if not _is_none(item)]
            return tuple(value for values in items for value in values) if all(items) else ()
        if isinstance(node, ast.Dict):
            return tuple(str(key.value) for key in node.keys if isinstance(key, ast.Constant))
        if isinstance(node, ast.Constant):
            return (str(node.value),)
        if isinstance(node, ast.Starred):
            return self.listed(node.value, depth)
        if isinstance(node, ast.Name) and node.id in self.values and depth < 5:
            return self.listed(self.values[node.id], depth + 1)
        if isinstance(node, ast.Subscript) and _called(node.value) == "Literal":
            return self.listed(node.slice, depth)
        if isinstance(node, ast.Call) and _called(node.func) in ("get_args", "list", "sorted") and node.args:
            return self.listed(node.args[0], depth)
        if isinstance(node, ast.BinOp):
            both = self.listed(node.left, depth), self.listed(node.right, depth)
            return both[0] + both[1] if all(both) else ()
        return ()


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _called(node: ast.expr | None) -> str:
    """The last name of `a.b.c`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def from_keywords(wheel: Wheel, given: dict[str, ast.expr], base: Option) -> Option:
    """What the keywords of `add_argument` (or of SGLang's `Arg`) make of an option."""
    action = given.get("action")
    word = str(action.value) if isinstance(action, ast.Constant) else _called(action)
    if word in ("store_true", "store_false") or "StoreTrue" in word:
        return Option("switch")
    if word in ("BooleanOptionalAction", "StoreBoolean"):
        return Option("toggle" if word == "BooleanOptionalAction" else "bool")
    choices = wheel.listed(given.get("choices")) or base.choices
    nargs, kind = given.get("nargs"), base.kind
    parser = given.get("type", given.get("type_parser"))
    if isinstance(parser, ast.Call) and parser.args:
        parser = parser.args[0]
    if parser is not None:
        kind = KINDS.get(_called(parser), "text")
    if isinstance(nargs, ast.Constant) and nargs.value is not None and kind != "toggle":
        kind = "optional" if nargs.value == "?" else "list"
    return Option(kind, tuple(sorted(set(choices))), base.open and "choices" not in given)


def added(wheel: Wheel) -> Iterator[tuple[list[str], Option]]:
    """Options of every `add_argument(...)`."""
    for tree in wheel.declaring:
        owners, long_numbers = _owners(tree), _long_numbers(tree)
        for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
            names = [str(arg.value) for arg in call.args if isinstance(arg, ast.Constant)]
            if _called(call.func) == "add_argument" and names and names[0].startswith("-"):
                base = _unpacked(wheel, call, owners, long_numbers)
                given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
                yield names, from_keywords(wheel, given, base)


def _owners(tree: ast.Module) -> dict[str, str]:
    """The class behind each `model_kwargs = get_kwargs(ModelConfig)`."""
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    return {
        _called(node.targets[0]): _called(node.value.args[0])
        for node in made
        if isinstance(node.value, ast.Call) and _called(node.value.func) == "get_kwargs" and node.value.args
    }


def _long_numbers(tree: ast.Module) -> set[str]:
    """Fields whose numbers may be written 8k: those that vLLM's `get_kwargs` names beside `human_readable_int`."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    readers = [node for node in functions if node.name in ("get_kwargs", "_compute_kwargs")]
    inner = [node for reader in readers for node in ast.walk(reader)]
    if not any(isinstance(node, ast.Name) and node.id == "human_readable_int" for node in inner):
        return set()
    return {node.value for node in inner if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _unpacked(wheel: Wheel, call: ast.Call, owners: dict[str, str], long_numbers: set[str]) -> Option:
    """The option of `**model_kwargs["field"]`, also within `**{**model_kwargs["field"], "default": None}`."""
    spread = [keyword.value for keyword in call.keywords if keyword.arg is None]
    inner = [value for item in spread if isinstance(item, ast.Dict) for value in item.values]
    for item in [*spread, *inner]:
        if isinstance(item, ast.Subscript) and isinstance(item.slice, ast.Constant):
            hints = dict(wheel.fields(owners.get(_called(item.value), "")))
            field = str(item.slice.value)
            if field in hints:
                return wheel.typed(hints[field], field, long_numbers)
    return Option("text")


def frontend(wheel: Wheel) -> Iterator[tuple[list[str], Option]]:
    """vLLM's server options, which are the fields of a class since 0.9."""
    found = wheel.classes.get("FrontendArgs")
    calls = [node for node in ast.walk(found) if isinstance(node, ast.Call)] if found else []
    if "BaseFrontendArgs" in wheel.classes or any(_called(call.func) == "get_kwargs" for call in calls):
        loaded = _loaded_as_json(wheel)
        for name, hint in wheel.fields("FrontendArgs"):
            option = Option("json") if name in loaded else wheel.typed(hint, name, set())
            yield [f"--{name.replace('_', '-')}"], option


def _loaded_as_json(wheel: Wheel) -> set[str]:
    """The fields of `kwargs["field"]["type"] = json.loads`."""
    found: set[str] = set()
    for node in (node for tree in wheel.declaring for node in ast.walk(tree) if isinstance(node, ast.Assign)):
        target = node.targets[0]
        if _called(node.value) == "loads" and isinstance(target, ast.Subscript):
            inner = target.value
            if isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Constant):
                found.add(str(inner.slice.value))
    return found


def annotated(wheel: Wheel) -> Iterator[tuple[list[str], Option]]:
    """SGLang's `name: A[type, "help"]` and `A[type, Arg(...)]`."""
    if wheel.root.name != "sglang":
        return
    for item in [node for tree in wheel.declaring for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]:
        hint = item.annotation
        if isinstance(hint, ast.Subscript) and _called(hint.value) == "A" and isinstance(hint.slice, ast.Tuple):
            calls = [part for part in hint.slice.elts[1:] if isinstance(part, ast.Call)]
            given = {word.arg: word.value for call in calls for word in call.keywords if word.arg}
            if "no_cli" not in given:
                name = _called(item.target)
                base = wheel.typed(hint.slice.elts[0], name, set(), bools="switch")
                base = Option("json") if "type_parser" in given and base.kind == "list" else base
                names = wheel.listed(given.get("cli_name")) or (f"--{name.replace('_', '-')}",)
                yield [*names, *wheel.listed(given.get("aliases"))], from_keywords(wheel, given, base)


def options_of(wheel: Wheel) -> dict[str, Option]:
    found: dict[str, Option] = {}
    for names, option in [*added(wheel), *frontend(wheel), *annotated(wheel)]:
        plain = Option("switch") if option.kind == "toggle" else option
        found |= {name: plain for name in names if name.startswith("-")}
        if option.kind == "toggle":
            found |= {opposite: plain for name in names for opposite in _opposites(wheel, name)}
    return found


def _opposites(wheel: Wheel, name: str) -> list[str]:
    """`--no-x`; with vLLM's EnableDisableAction (since 0.33 of those read) `--enable-x` has `--disable-x` besides."""
    if not name.startswith("--"):
        return []
    pairs = {"--enable-": "--disable-", "--disable-": "--enable-"} if "EnableDisableAction" in wheel.classes else {}
    named = [new + name.removeprefix(old) for old, new in pairs.items() if name.startswith(old)]
    return [f"--no-{name[2:]}", *named]


def spans(releases: dict[str, dict[str, Option]]) -> dict[str, list[dict[str, object]]]:
    """Each option's spans over the releases, oldest first."""
    order = list(releases)
    table: dict[str, list[dict[str, object]]] = {}
    for name in sorted({name for found in releases.values() for name in found}):
        rows: list[dict[str, object]] = []
        before: Option | None = None
        for index, release in enumerate(order):
            option = releases[release].get(name)
            if option != before and before is not None:
                rows[-1]["until"] = order[index - 1]
            if option != before and option is not None:
                choices = {"choices": list(option.choices)} if option.choices else {}
                more = {"open": True} if option.open and option.choices else {}
                rows.append({"since": release, "kind": option.kind, **choices, **more})
            before = option
        table[name] = rows
    return table


def main(engine: str, *given: str) -> None:
    folders = dict(item.split("=", 1) for item in given)
    releases = {release: options_of(Wheel(Path(folder), engine)) for release, folder in folders.items()}
    files = ", ".join(READ[engine])
    head = {
        "name": engine,
        "about": ABOUT,
        "source": f"{engine} published wheels of the releases read: {files}",
        "checked": date.today().isoformat(),
        "read": list(releases),
        **LAUNCH[engine],
    }
    lines = [f" {json.dumps(name)}: {json.dumps(rows)}" for name, rows in spans(releases).items()]
    text = json.dumps(head, indent=1)[:-2] + ',\n "options": {\n' + ",\n".join(lines) + "\n }\n}\n"
    (OPTIONS / f"{engine}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
