"""`bide bench`: load a live server, and say what it did and how far the client can be believed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bide.cli.bench_live import Live
from bide.cli.bench_loads import alone
from bide.cli.bench_options import ask, bench_options, target
from bide.cli.options import Written, json_option, outputs_option
from bide.cli.output import json_text, note, print_json, print_table, say, say_facts, write_file, write_output, writing
from bide.errors import BadInput, BideError
from bide.i18n import _

if TYPE_CHECKING:
    from bide.bench.result import Bench

_TABLES = (".parquet", ".csv", ".jsonl")
_REPORTS = (".html", ".md", ".json", ".png", ".svg")
_INTERRUPTED = 130
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Of numpy's linear algebra, which nothing here uses: idle threads cost memory and wake up."""


@click.command(
    help=_("Load an OpenAI-compatible server at URL: percentiles with intervals, and the client's own health.")
)
@click.argument("url", required=False)
@bench_options
@click.option("--selftest", is_flag=True, help=_("Measure a server whose times are known: what can this machine do?"))
@click.option("--vllm-json", type=Written(), metavar="FILE", help=_("The result as `vllm bench serve` writes it."))
@json_option
@outputs_option(_TABLES, _REPORTS)
def command(
    url: str | None,
    asked: dict[str, Any],
    selftest: bool,
    vllm_json: Path | None,
    as_json: bool,
    output: Sequence[Path],
) -> int:
    """Measure, print, write. Exit 1: no load met the objectives, or nothing succeeded."""
    if selftest:
        return _selftest(as_json)
    made, journal = _measured(url, asked)
    if made.cells[-1].interrupted and not any(cell.outcomes for cell in made.cells):
        raise KeyboardInterrupt  # cut short before there was anything to show
    try:
        if as_json:
            print_json("bench", made.to_dict())
        else:
            _print(made)
        _write_all(made, output, vllm_json)
    finally:  # whatever becomes of the report, a second Ctrl-C too: the measurement is there
        if journal is not None:
            _say_where(made, journal)
    return _exit_code(made)


def _say_where(made: Bench, journal: Path) -> None:
    note(_("wrote {path}").format(path=journal))
    if any(cell.interrupted for cell in made.cells):
        note(_("to complete it: bide bench --resume {path}").format(path=journal))


def _exit_code(made: Bench) -> int:
    if any(cell.interrupted for cell in made.cells):
        return _INTERRUPTED
    met = made.found.get("slo", {}).get("highest", True) is not None
    return 0 if met and any(row.ok for cell in made.cells for row in cell.outcomes) else 1


def _measured(url: str | None, asked: dict[str, Any]) -> tuple[Bench, Path | None]:
    """The run, and its journal."""
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    from bide.bench.session import bench, resume

    live = Live()
    try:
        if asked["resume"]:
            alone(asked)
            from bide.bench.journal import read_journal

            url = url or str(read_journal(asked["resume"]).settings["url"])
            return resume(target(url, asked), asked["resume"], live), asked["resume"]
        if not url:
            raise BadInput("url", None, _("a server such as http://localhost:8000"))
        journal = None if asked["no_journal"] else asked["journal"] or _journal_name()
        server, wanted = target(url, asked), ask(asked)
        return bench(server, wanted, journal, live), journal
    finally:
        live.clear()


def _journal_name() -> Path:
    from datetime import datetime

    return Path(f"bide-bench-{datetime.now().astimezone():%Y%m%d-%H%M%S-%f}.jsonl")


def _print(made: Bench) -> None:
    from bide.report import bench_text as words
    from bide.report.bench_facts import facts

    for text in words.sentences(made):
        say(text)
    click.echo()
    if len(made.cells) > 1:
        print_table(*words.level_table(made))
        click.echo()
    shown = words.shown_cell(made)
    print_table(*words.latency_table(shown))
    click.echo()
    say_facts(facts(shown))
    click.echo()
    for line in words.endnotes(made, shown):
        say(line, hang=2)


def _write_all(made: Bench, output: Sequence[Path], vllm_json: Path | None) -> None:
    """Every file that can be written, then the first error of those that cannot: nothing measured is lost for one."""
    errors: list[BideError] = []
    writes = [partial(_write, made, path) for path in output]
    for write in (*writes, *((partial(_write_vllm, made, vllm_json),) if vllm_json is not None else ())):
        try:
            write()
        except BideError as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _write(made: Bench, path: Path) -> None:
    from bide.report import bench_files as files
    from bide.report import bench_page as page

    if path.suffix.lower() in _TABLES:
        with writing(path):
            files.write_requests(made, path)
        return
    writers: dict[str, Callable[[], str | bytes]] = {
        ".html": lambda: page.bench_page(made),
        ".md": lambda: files.bench_markdown(made),
        ".json": lambda: json_text("bench", made.to_dict()) + "\n",
        ".png": lambda: page.bench_png(made),
        ".svg": lambda: page.bench_svg(made),
    }
    write_output(path, writers)


def _write_vllm(made: Bench, path: Path) -> None:
    """One object; for several levels one a line, as vLLM's append mode writes them."""
    import json

    from bide.bench.vllm_json import vllm_result

    lines = [json.dumps(vllm_result(made, cell), allow_nan=False) for cell in made.cells]
    write_file(path, "\n".join(lines) + "\n", "vllm_json")


def _selftest(as_json: bool) -> int:
    from bide.bench.selftest import selftest
    from bide.report import bench_selftest as words

    found = selftest(lambda text: note(text) if sys.stderr.isatty() else None)
    if as_json:
        print_json("bench-selftest", found.to_dict())
        return 0
    for text in words.selftest_sentences(found):
        say(text)
    click.echo()
    print_table(*words.selftest_table(found))
    click.echo()
    for text in words.selftest_notes():
        say(text, hang=2)
    return 0
