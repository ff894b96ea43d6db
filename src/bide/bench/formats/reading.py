"""Whatever a load client wrote, as runs: the format is seen from what is in the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bide.bench.formats import aiperf, guidellm, inference_perf, inferencex, llmd, own, own_tables, sglang, vllm
from bide.bench.formats.numbers import items, mapping
from bide.bench.formats.plausible import plausible
from bide.bench.formats.raw import Raw, read_raw
from bide.bench.formats.values import Fault, Run
from bide.errors import BadInput
from bide.i18n import _, ngettext

TOOLS = ("bide bench", "vllm bench serve", "SGLang", "GuideLLM", "AIPerf", "inference-perf", "llm-d", "InferenceX")
_TABLES = (".parquet", ".csv")
Reader = Callable[[Mapping[str, Any], str, Path], Sequence[Run]]
_WHOLE: tuple[tuple[Callable[[Mapping[str, Any]], bool], Reader], ...] = (
    (own.is_bench, lambda found, source, _path: own.bench_runs(found, source)),
    (guidellm.is_guidellm, lambda found, source, _path: guidellm.guidellm_runs(found, source)),
    (aiperf.is_aiperf, lambda found, source, _path: [aiperf.aiperf_run(found, source)]),
    (inference_perf.is_inference_perf, lambda f, source, path: [inference_perf.inference_perf_run(f, source, path)]),
    (llmd.is_llmd, lambda found, source, path: [llmd.llmd_run(found, source, path)]),
    (inferencex.is_inferencex, lambda found, source, _path: [inferencex.inferencex_run(found, source)]),
    (vllm.is_vllm, lambda found, source, _path: [vllm.vllm_run(found, source)]),
    (sglang.is_sglang, lambda found, source, _path: [sglang.sglang_run(found, source)]),
)
"""Objects that are one result each, the most telling first."""


def read_runs(path: Path, field: str = "results") -> list[Run]:
    """Every level of load in a file. Raises BadInput naming `field` for what no known client writes."""
    if path.is_dir():
        raise BadInput(field, str(path), _("a file"), _("name the result inside it"))
    try:
        found = plausible(_read(path, field))
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
        hint = _("not understood: {why}").format(why=str(error)[:100])
        raise BadInput(field, str(path), _allowed(), hint) from error
    if not found:
        raise BadInput(field, str(path), _allowed(), _("nothing was measured in it"))
    return found


def _read(path: Path, field: str) -> Sequence[Run]:
    if path.suffix.lower() in _TABLES:
        return own_tables.table_runs(path, field)
    if own.begins_journal(path):
        return own.journal_runs(path, field)
    raw = read_raw(path, field)
    return [_with_broken(run, raw.broken) for run in _runs(raw, path, field)]


def _allowed() -> str:
    return _("a result of {tools}").format(tools=", ".join(TOOLS))


def _with_broken(run: Run, broken: int) -> Run:
    if not broken:
        return run
    fault = Fault(
        "broken_lines",
        ngettext(
            "{n:,} line of the file is no JSON and was left out",
            "{n:,} lines of the file are no JSON and were left out",
            broken,
        ).format(n=broken),
    )
    return replace(run, faults=(*run.faults, fault))


def _runs(raw: Raw, path: Path, field: str) -> Sequence[Run]:
    first = raw.documents[0]
    if isinstance(first, list) and not raw.lines:
        return _listed(first, path, field)
    head = mapping(first)
    if own_tables.is_row(head):
        return own_tables.table_runs(path, field)
    lines = [mapping(each) for each in raw.documents]
    if aiperf.is_aiperf_line(head):
        return [aiperf.aiperf_table_run(lines, str(path), path)]
    return _each(lines, path, field)


def _listed(rows: Sequence[Any], path: Path, field: str) -> Sequence[Run]:
    """A list: requests of inference-perf, or results one after another."""
    made = [mapping(row) for row in items(list(rows))]
    if made and inference_perf.is_per_request(made[0]):
        return [inference_perf.per_request_run(made, str(path), path)]
    return _each(made, path, field)


def _each(found: Sequence[Mapping[str, Any]], path: Path, field: str) -> Sequence[Run]:
    """Every object by itself."""
    runs: list[Run] = []
    for place, each in enumerate(found):
        source = f"{path}#{place}" if len(found) > 1 else str(path)
        reader = next((read for is_it, read in _WHOLE if is_it(each)), None)
        if reader is None:
            keys = ", ".join(map(str, list(each)[:6]))
            raise BadInput(field, source, _allowed(), _("its keys are {keys}").format(keys=keys or _("none")))
        runs += reader(each, source, path)
    return runs
