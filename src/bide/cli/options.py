"""The flags that several commands share, and how their sizes are read."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from bide.cli.output import check_file, check_folder
from bide.errors import BadInput
from bide.i18n import _
from bide.units import likely_number, parse_bytes, parse_tokens

Function = Callable[..., Any]
_WHOLE = re.compile(r"[-+]?[0-9]{1,1000}")
_THOUSANDS = re.compile(r"[0-9]+[kKmM]")
_PERCENT = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?%")


class Whole(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.2 only
    """A whole number within limits. Raises BadInput itself."""

    name = "integer"

    def __init__(self, low: int | None = None, high: int | None = None) -> None:
        self._low, self._high = low, high

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip()
        number = int(text) if _WHOLE.fullmatch(text) else None
        if number is None or not self._within(number):
            hint = _("without letters: 8k is 8192") if _THOUSANDS.fullmatch(text) else ""
            raise BadInput((param.name if param else None) or self.name, value, self._allowed(), hint)
        return number

    def _within(self, number: int) -> bool:
        return (self._low is None or number >= self._low) and (self._high is None or number <= self._high)

    def _allowed(self) -> str:
        if self._low is None:
            return _("a whole number")
        if self._high is None:
            return _("a whole number, {low:,} or more").format(low=self._low)
        return _("a whole number from {low:,} to {high:,}").format(low=self._low, high=self._high)


class Number(click.ParamType):  # type: ignore[type-arg]  # likewise
    """A number with a decimal point; its limits are looked at by whoever uses it. Raises BadInput itself."""

    name = "float"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return float(str(value))
        except ValueError:
            field = (param.name if param else None) or self.name
            raise BadInput(field, value, _("a number such as 0.9 or 12"), self._meant(str(value).strip())) from None

    def _meant(self, text: str) -> str:
        if not _PERCENT.fullmatch(text):
            return likely_number(text)
        return _("as a share: {number}").format(number=f"{float(text[:-1]) / 100:g}")


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
        raise BadInput(field, value, _("a number above 0"), likely_number(str(value)))
    return number


POSITIVE = Quantity("number", _parse_positive)
TOKENS = Quantity("tokens", parse_tokens)
BYTES = Quantity("bytes", parse_bytes)


def _switch(name: str, text: str) -> Function:
    """`--name/--no-name`, None where neither was given."""
    return click.option(f"--{name}/--no-{name}", default=None, help=text)


def _several(_context: click.Context, _param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """The values of a flag that is repeated, or has commas between its values."""
    return tuple(part.strip() for text in given for part in text.split(","))


def _one(_context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> str | None:
    """The one value of a flag: click would take the last of several, and say nothing."""
    if len(given) > 1 or any("," in text for text in given):
        hint = _("`bide curve` takes several")
        raise BadInput(str(param.name), ", ".join(given), _("one GPU here"), hint)
    return given[0] if given else None


def _deployment_flags(several_gpus: bool = False) -> list[Function]:
    """Every deployment flag, in the order of `--help`; each is None (or empty) where it was not given."""
    gpu = _("GPU: an id of `bide gpus` or a common spelling.") + (_(" Repeatable.") if several_gpus else "")
    return [
        click.option("--gpu", metavar="GPU", multiple=True, callback=_several if several_gpus else _one, help=gpu),
        click.option("--tp", type=Whole(), help=_("Tensor parallel: GPUs that divide every layer (1).")),
        click.option("--pp", type=Whole(), help=_("Pipeline parallel: stages that divide the layers (1).")),
        click.option("--dp", type=Whole(), help=_("Data parallel: groups with requests of their own (1).")),
        click.option(
            "--ep", type=Whole(), help=_("Expert parallel: GPUs that divide the experts, within tp x dp (1).")
        ),
        click.option("--gpus", type=Whole(), help=_("GPUs of a replica; bide chooses how they are used.")),
        click.option("--engine", metavar="vllm|sglang|trtllm", help=_("Serving engine (vllm).")),
        click.option("--engine-version", metavar="VERSION", help=_("Its version; the newest known by default.")),
        click.option("--weights", metavar="FORMAT", help=_("auto (what the config says), bf16, fp8, int4, ...")),
        click.option("--kv-dtype", metavar="FORMAT", help=_("Cache type: auto, bf16, fp16, fp8, ...")),
        click.option(
            "--gpu-memory-utilization",
            type=Number(),
            help=_("Share of the GPU that the engine may take (the engine's own; vLLM: 0.92)."),
        ),
        click.option("--max-model-len", type=TOKENS, help=_("Longest context, 8k = 8,192 (the model's own).")),
        click.option("--max-num-seqs", type=Whole(), help=_("Most requests in one step.")),
        click.option("--max-num-batched-tokens", type=TOKENS, help=_("Most tokens in one step.")),
        click.option("--block-size", type=Whole(), help=_("Tokens of a cache block.")),
        _switch("enforce-eager", _("Run without CUDA graphs.")),
        _switch("enable-prefix-caching", _("Keep the cache of shared prefixes.")),
        _switch("enable-chunked-prefill", _("Split prefill over steps.")),
        _switch("async-scheduling", _("Schedule a step while the one before it runs.")),
        click.option("--speculative-tokens", type=Whole(), help=_("Tokens drafted in each step.")),
        click.option("--pool-bytes-per-gpu", type=BYTES, help=_("The pool as an engine's log gives it (53GB).")),
    ]


def with_model(text: str) -> str:
    """The help of a command that takes a MODEL, with what that may be."""
    names = _("MODEL: a name of `bide models`, a Hugging Face id, a config.json or its directory.")
    return f"{text}\n\n{names}"


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
    kind = click.Path(path_type=Path, dir_okay=False)
    text = _("Step times of your own, as `bide calibrate --save` writes them; or BIDE_PROFILE.")
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
