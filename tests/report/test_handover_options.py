"""The tool that reads options out of wheels, on a wheel of a few lines in the engines' own manners."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[2] / "tools/read_engine_options.py"

OLD = """
class EngineArgs:
    def add_cli_args(parser):
        parser.add_argument("--seats", "-s", type=int, default=None)
        parser.add_argument("--kind", type=str, choices=["auto", "fast"])
        parser.add_argument("--slow", action="store_true")
        parser.add_argument("--chunks", action=StoreBoolean, nargs="?", const="True")
"""
NEW = """
Kind = Literal["auto", "fast", "slow"]
class Config:
    seats: int = 1
    kind: Kind | str = "auto"
    enable_chunks: bool | None = None
    names: list[str] = field(default_factory=list)

def add_cli_args(parser):
    config_kwargs = get_kwargs(Config)
    group.add_argument("--seats", "-s", **{**config_kwargs["seats"], "default": None})
    group.add_argument("--kind", **config_kwargs["kind"])
    group.add_argument("--enable-chunks", **config_kwargs["enable_chunks"])
    group.add_argument("--names", **config_kwargs["names"])
"""
ANNOTATED = """
class Memory:
    page_size: A[Optional[int], "Tokens."] = None
    no_cache: A[bool, Arg(help="No cache.", aliases=["--without-cache"])] = False
    kind: A[str, Arg(help="Kind.", choices=["a", "b"], cli_name="--cache-kind")] = "a"
    hidden: A[bool, Arg(no_cli=True)] = False
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("read_engine_options", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def wheel(
    tool: ModuleType, root: Path, engine: str, file: str, text: str
) -> dict[str, tuple[str, tuple[str, ...], bool]]:
    path = root / engine / file
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    found = tool.options_of(tool.Wheel(root, engine))
    return {name: (option.kind, option.choices, option.open) for name, option in found.items()}


def test_options_are_read_from_calls(tool: ModuleType, tmp_path: Path) -> None:
    assert wheel(tool, tmp_path, "vllm", "engine/arg_utils.py", OLD) == {
        "--seats": ("int", (), False),
        "-s": ("int", (), False),
        "--kind": ("text", ("auto", "fast"), False),
        "--slow": ("switch", (), False),
        "--chunks": ("bool", (), False),
    }


def test_options_are_read_from_the_types_of_fields(tool: ModuleType, tmp_path: Path) -> None:
    assert wheel(tool, tmp_path, "vllm", "engine/arg_utils.py", NEW) == {
        "--seats": ("int", (), False),
        "-s": ("int", (), False),
        "--kind": ("text", ("auto", "fast", "slow"), True),
        "--enable-chunks": ("switch", (), False),
        "--no-enable-chunks": ("switch", (), False),
        "--names": ("list", (), False),
    }
    assert wheel(tool, tmp_path, "sglang", "srt/arg_groups/fields/memory.py", ANNOTATED) == {
        "--page-size": ("int", (), False),
        "--no-cache": ("switch", (), False),
        "--without-cache": ("switch", (), False),
        "--cache-kind": ("text", ("a", "b"), False),
    }


def test_an_option_has_a_span_for_each_form(tool: ModuleType) -> None:
    first, second = tool.Option("int"), tool.Option("text", ("a",))
    found = tool.spans({"1": {"--x": first}, "2": {"--x": first, "--y": second}, "3": {"--x": second}})
    assert found == {
        "--x": [{"since": "1", "kind": "int", "until": "2"}, {"since": "3", "kind": "text", "choices": ["a"]}],
        "--y": [{"since": "2", "kind": "text", "choices": ["a"], "until": "2"}],
    }
