"""The flags that several commands share, and how their sizes are read."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from bide.cli.output import check_file, check_folder
from bide.errors import BadInput
from bide.i18n import _
from bide.units import parse_bytes, parse_tokens

Function = Callable[..., Any]


class Quantity(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2 only
    """A number with a unit, read by one of the parsers of `bide.units`, which raises BadInput itself."""

    def __init__(self, name: str, parse: Callable[[object, str], float]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        return self._parse(value, (param.name if param else None) or self.name)


def _parse_positive(value: object, field: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise BadInput(field, value, _("a number above 0"))
    return number


POSITIVE = Quantity("number", _parse_positive)
TOKENS = Quantity("tokens", parse_tokens)
BYTES = Quantity("bytes", parse_bytes)


def _switch(name: str, text: str) -> Function:
    """`--name/--no-name`, None where neither was given."""
    return click.option(f"--{name}/--no-{name}", default=None, help=text)


def _deployment_flags(several_gpus: bool = False) -> list[Function]:
    """Every deployment flag, in the order of `--help`; each is None (or empty) where it was not given."""
    gpu = _("GPU: an id of `bide gpus` or a common spelling.") + (_(" Repeatable.") if several_gpus else "")
    return [
        click.option("--gpu", metavar="GPU", multiple=several_gpus, help=gpu),
        click.option("--tp", type=int, help=_("Tensor parallel size.")),
        click.option("--pp", type=int, help=_("Pipeline parallel size.")),
        click.option("--dp", type=int, help=_("Data parallel size.")),
        click.option("--ep", type=int, help=_("Expert parallel size; lies within tp x dp.")),
        click.option("--gpus", type=int, help=_("GPUs of a replica; bide chooses how they are used.")),
        click.option("--engine", metavar="vllm|sglang|trtllm", help=_("Serving engine.")),
        click.option("--engine-version", metavar="VERSION", help=_("Its version; the newest known by default.")),
        click.option("--weights", metavar="FORMAT", help=_("auto (what the config says), bf16, fp8, int4, ...")),
        click.option("--kv-dtype", metavar="FORMAT", help=_("Cache type: auto, bf16, fp16, fp8, ...")),
        click.option("--gpu-memory-utilization", type=float, help=_("Share of the GPU that the engine may take.")),
        click.option("--max-model-len", type=TOKENS, help=_("Longest context (8k = 8,192).")),
        click.option("--max-num-seqs", type=int, help=_("Most requests in one step.")),
        click.option("--max-num-batched-tokens", type=TOKENS, help=_("Most tokens in one step.")),
        click.option("--block-size", type=int, help=_("Tokens of a cache block.")),
        _switch("enforce-eager", _("Run without CUDA graphs.")),
        _switch("enable-prefix-caching", _("Keep the cache of shared prefixes.")),
        _switch("enable-chunked-prefill", _("Split prefill over steps.")),
        _switch("async-scheduling", _("Schedule a step while the one before it runs.")),
        click.option("--speculative-tokens", type=int, help=_("Tokens drafted in each step.")),
        click.option("--pool-bytes-per-gpu", type=BYTES, help=_("The pool as an engine's log gives it (53GB).")),
    ]


def deployment_options(function: Function, several_gpus: bool = False) -> Function:
    """Add the deployment flags; `function` gets those that were given as one dict, `deployment`.

    With `several_gpus` --gpu may be repeated, and is a tuple there.
    """
    params = deployment_params()

    @functools.wraps(function)
    def collect(**values: Any) -> Any:
        given = {name: values.pop(name) for name in params}
        return function(deployment={name: value for name, value in given.items() if value not in (None, ())}, **values)

    return _with_flags(collect, _deployment_flags(several_gpus))


def deployment_params() -> dict[str, click.Parameter]:
    """The deployment flags by the key that each sets."""
    probe = click.command()(_with_flags(lambda: None, _deployment_flags()))
    return {param.name: param for param in probe.params if param.name}


def _with_flags(function: Function, flags: Sequence[Function]) -> Function:
    for flag in reversed(flags):
        function = flag(function)
    return function


def json_option(function: Function) -> Function:
    """`--json`: `function` gets `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=_("Print one JSON object and nothing else."))(function)


def explain_option(function: Function) -> Function:
    """`--explain`: `function` gets `explain`."""
    return click.option("--explain", is_flag=True, help=_("Show each figure's arithmetic, with sources."))(function)


def profile_option(function: Function) -> Function:
    """`--profile FILE`, or the variable BIDE_PROFILE: `function` gets `profile`, a path or None."""
    kind, text = click.Path(path_type=Path, dir_okay=False), _("Step times of your own.")
    return click.option("--profile", type=kind, envvar="BIDE_PROFILE", metavar="FILE", help=text)(function)


class Written(click.Path):
    """A file that will be written: a path whose place, and suffix, are looked at before any work begins."""

    def __init__(self, suffixes: Sequence[str] = ()) -> None:
        super().__init__(path_type=Path, dir_okay=False)
        self._suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        check_file(path, self._suffixes, (param.name if param else None) or "output")
        return path


class WrittenFolder(click.Path):
    """Likewise a folder, which need not exist."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        check_folder(path, (param.name if param else None) or "output")
        return path


def output_option(*suffixes: str) -> Callable[[Function], Function]:
    """`-o/--output FILE`: `function` gets `output`, a path that ends in one of `suffixes`, or None."""
    text = _("Write the report; by suffix: {suffixes}.").format(suffixes=", ".join(suffixes))
    return click.option("-o", "--output", type=Written(suffixes), metavar="FILE", help=text)


def outputs_option(tables: Sequence[str], reports: Sequence[str]) -> Callable[[Function], Function]:
    """`-o/--output FILE`, as often as wanted: `function` gets `output`, the paths."""
    text = _("Requests ({tables}) or the report ({reports}), by suffix. Repeatable.").format(
        tables=", ".join(tables), reports=", ".join(reports)
    )
    kind = Written((*tables, *reports))
    return click.option("-o", "--output", multiple=True, type=kind, metavar="FILE", help=text)
