"""A service file from a few answers: each is checked as the file's own reader would, before the next is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bide.errors import BadInput
from bide.i18n import _
from bide.located import Located
from bide.plan.asked.hardware import read_hardware
from bide.plan.asked.overrides import limits_of, number_of
from bide.plan.asked.patience import read_patience
from bide.plan.asked.traffic import WINDOW_S, read_traffic
from bide.plan.asked.workload import AskedWorkload, read_workload
from bide.plan.service_file import read_model

SUFFIXES = (".yaml", ".yml")
PROMPT_TOKENS, OUTPUT_TOKENS = "1000, 3500", "130, 500"
"""About those of the Azure conversation trace of 2023: medians 1,020 and 129, 90th percentiles 2,735 and 424."""
_FIGURES = ("p50", "p95")


@dataclass(frozen=True, slots=True, eq=False)
class AskedFor:
    """A workload as the file says it, and what was read from it."""

    content: Mapping[str, object]
    work: AskedWorkload

    @property
    def knows_its_peak(self) -> bool:
        """Whether its trace is long enough to take the peak from."""
        return self.work.recorded is not None and self.work.recorded.span_s >= WINDOW_S


def model_name(answer: str) -> str:
    """A model that can be loaded. Raises BadInput, as the others here."""
    read_model(Located(answer, "model", 0), Path())
    return answer


def gpu_names(answer: str) -> list[str]:
    """`h100-sxm, l40s`."""
    names = [part.strip() for part in answer.split(",") if part.strip()]
    listed = Located([Located(name, "gpus", 0) for name in names], "gpus", 0)
    hardware, _assumed = read_hardware(Located({"gpus": listed}, "hardware", 0))
    return [gpu.id for gpu in hardware.gpus]


def trace(answer: str) -> AskedFor:
    """The path of a trace, from where one is."""
    return _workload({"trace": Located(os.path.expanduser(answer), "trace", 0)})


def lengths(prompt: str, output: str) -> AskedFor:
    """Both as `figures` took them."""
    given = {"prompt": figures(prompt, "prompt"), "output": figures(output, "output")}
    items = {
        name: Located({key: Located(value, f"{name}.{key}", 0) for key, value in of.items()}, name, 0)
        for name, of in given.items()
    }
    return _workload({"lengths": Located(items, "lengths", 0)})


def _workload(keys: dict[str, Located]) -> AskedFor:
    entry = Located(keys, "workload", 0)
    return AskedFor(entry.plain(), read_workload(entry, Path()))


def figures(answer: str, field: str) -> dict[str, object]:
    """`1000, 3500` as a median and a 95th percentile, one figure as a mean; a lognormal must go through them."""
    from bide.workload.lengths import parse_lengths

    parts = [part.strip() for part in answer.split(",")]
    if len(parts) > len(_FIGURES) or not all(parts):
        raise BadInput(field, answer, _("a median and a 95th percentile, such as 1000, 3500; or the mean alone"))
    found = dict(zip(_FIGURES if len(parts) > 1 else ("mean",), map(number_of, parts), strict=True))
    parse_lengths(found, field)
    return found


def peak(answer: str, asked: AskedFor) -> object:
    """Requests a second, or `trace`."""
    item = Located(number_of(answer), "peak_rps", 0)
    read_traffic(Located({"peak_rps": item}, "traffic", 0), asked.work, "")
    return item.value


def patience(answer: str, asked: AskedFor) -> dict[str, object]:
    """`ttft_p95=1s, tpot_p95=50ms`."""
    entry = Located(limits_of([answer], "patience"), "patience", 0)
    read_patience(entry, len(asked.work.requests), "")
    found: dict[str, object] = entry.plain()
    return found


def file_path(answer: str) -> Path:
    """Where the file may be written; whether there is one already is not looked at."""
    path = Path(os.path.expanduser(answer))
    if path.suffix.lower() not in SUFFIXES:
        raise BadInput("file", answer, _("a name ending in {suffixes}").format(suffixes=" or ".join(SUFFIXES)))
    if not os.path.isdir(path.parent):
        raise BadInput("file", answer, _("a name in a folder that exists"))
    if os.path.exists(path) and not os.path.isfile(path):
        raise BadInput("file", answer, _("a regular file"))
    return path


def service_text(
    path: Path, model: str, gpus: list[str], asked: AskedFor, rps: object, limits: Mapping[str, object]
) -> str:
    """The content of the service file at `path`; paths in it are relative to it."""
    import yaml

    content = {
        "services": [
            {
                "name": _called(model),
                "model": _from(path, model) if _is_path(model) else model,
                "workload": {
                    key: _from(path, str(value)) if key == "trace" else value for key, value in asked.content.items()
                },
                "traffic": {"peak_rps": rps},
                "patience": dict(limits),
            }
        ],
        "hardware": {"gpus": gpus},
    }
    text: str = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=118, default_flow_style=None)
    return (
        _("# bide plan {file}\n# What is left out is assumed, and listed in the answer.\n").format(file=path.name)
        + text
    )


def _called(model: str) -> str:
    """A name for the service: that of the model, or of the folder that holds its config.json."""
    if not _is_path(model):
        return model.rpartition("/")[2]
    path = Path(_whole(model))
    name = (path.parent if path.name == "config.json" else path).name
    return name.removesuffix(".json") or _("service")


def _is_path(model: str) -> bool:
    return model.startswith((".", "/", "~")) or os.path.exists(model)


def _whole(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _from(file: Path, path: str) -> str:
    """`path` as it is reached from the folder of `file`; whole where there is no way."""
    there = _whole(path)
    try:
        found = os.path.relpath(there, file.absolute().parent)
    except ValueError:  # on another drive
        return there
    return found if found.startswith(".") else f"./{found}"
