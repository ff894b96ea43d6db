"""The group: help without imports, one place for errors, exit codes."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest

from bide.cli import main as main_module
from bide.cli.language import taken
from bide.cli.main import EXAMPLES, help_lines, main
from bide.errors import BadInput, CannotBeMet

HEAVY = ("numpy", "pydantic", "polars", "altair", "jinja2", "scipy", "vl_convert", "yaml", "numba")


def run(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bide", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})})


def modules_after(*args: str) -> set[str]:
    """The top-level modules in memory once `bide ARGS` has run, in a fresh process."""
    code = (
        "import contextlib, io, sys\n"
        "from bide.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    code = main(sys.argv[1:])\n"
        "assert code == 0, code\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "args",
    [
        ("--help",),
        ("curve", "--help"),
        ("gpus", "--json"),
        ("gpus", "l4"),
        ("memory", "llama-3.1-8b", "--gpu", "h100-sxm"),
        ("models",),
    ],
    ids=" ".join,
)
def test_quick_commands_import_nothing_heavy(args: tuple[str, ...]) -> None:
    assert modules_after(*args) & set(HEAVY) == set()


def test_help_imports_no_command_and_no_rich() -> None:
    code = "import sys; from bide.cli.main import main; main(['--help']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "rich" not in loaded
    assert not {f"bide.cli.{name}" for name in help_lines()} & set(loaded)


def test_help_lists_every_command_and_every_command_has_help() -> None:
    text = run("--help").stdout
    for name in help_lines():
        assert f"  {name} " in text
        done = run(name, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"Usage: bide {name}" in done.stdout
        assert f"For example:\n    {EXAMPLES[name]}\n" in done.stdout


def test_nothing_asked_shows_the_help() -> None:
    assert (run().returncode, run().stdout) == (0, run("--help").stdout)


def test_version_is_the_package_s() -> None:
    import bide

    assert run("--version").stdout.strip() == f"bide, version {bide.__version__}"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("gpuss",), "error: no such command: gpuss. Did you mean gpus?"),
        (("--nonsense",), "--nonsense"),
        (("gpus", "--nonsense"), "`bide gpus --help`"),
        (("gpus", "h100-sxn"), "error: name: got 'h100-sxn'"),
        (("gpus", "--vendor", "intol"), "Did you mean intel?"),
        (("memory", "llama-3.1-8b", "h100-sxm"), "Did you mean --gpu h100-sxm? `bide memory --help`"),
        (("memory", "llama-3.1-8b", "-gpu", "h100-sxm"), "Did you mean --gpu?"),
        (("memory", "llama-3.1-8b", "--tensor-parallel-size", "2"), "Did you mean --tp?"),
        (("curve", "llama-3.1-8b", "--answer", "200"), "Did you mean --output?"),
        (("simulate", "llama-3.1-8b", "--rps", "3"), "Did you mean --rate?"),
        (("workload", "sample", "--rate", "3"), "Did you mean --rps?"),
        (("simulate", "llama-3.1-8b"), "--workload"),
    ],
)
def test_bad_usage_is_one_error_on_stderr_and_exit_2(args: tuple[str, ...], said: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("tp", 3, "1, 2 or 4"), 2),
        (CannotBeMet("needs 3 GPUs, there are 2"), 1),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
        (click.FileError("x.yaml", "no such file"), 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_has_its_exit_code(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def failing() -> None:
        raise error

    monkeypatch.setattr(main_module, "help_lines", lambda: {"failing": ""})
    monkeypatch.setattr(main_module._Everything, "get_command", lambda *_: failing)
    monkeypatch.setattr(main_module, "_silence_stdout", lambda: None)
    assert main(["failing"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_a_command_s_number_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def no() -> int:
        return 1

    monkeypatch.setattr(main_module, "help_lines", lambda: {"no": ""})
    monkeypatch.setattr(main_module._Everything, "get_command", lambda *_: no)
    assert main(["no"]) == 1


def test_a_closed_pipe_is_silent() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "bide", "gpus", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()  # before anything was read: the first write fails
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (141, b"")


def test_the_language_may_stand_anywhere() -> None:
    assert taken(["gpus", "--lang", "vi"]) == ("vi", ["gpus"])
    assert taken(["--help", "--lang=ru"]) == ("ru", ["--help"])
    assert taken(["gpus", "--lang"]) == (None, ["gpus", "--lang"])
    assert taken(["gpus", "--", "--lang", "vi"]) == (None, ["gpus", "--", "--lang", "vi"])
    assert taken(["--lang", "en", "gpus", "--lang", "ru"]) == ("ru", ["gpus"])  # the last word holds
    done = run("gpus", "l4", "--lang", "tlh")
    assert (done.returncode, done.stderr) == (2, "error: lang: got 'tlh'; allowed: one of en, ru, vi\n")


@pytest.mark.parametrize(("language", "word"), [("ru", "Команды"), ("vi", "Lệnh")])
def test_help_errors_and_answers_come_in_the_language(language: str, word: str) -> None:
    """click's own words too."""
    assert word in run("--help", env={"BIDE_LANG": language}).stdout
    helped = run("memory", "--help", "--lang", language).stdout
    assert "Show this message and exit" not in helped
    assert "Options:" not in helped
    refused = run("--lang", language, "memory", "llama-3.1-8b", "--tp", "x").stderr
    assert "Invalid value" not in refused
    assert "'x'" in refused


def test_numbers_follow_the_language_and_json_does_not() -> None:
    assert "989,4" in run("gpus", "h100-sxm", "--lang", "ru").stdout
    assert "1.978,9" in run("gpus", "h100-sxm", "--lang", "vi").stdout
    spoken = [run("gpus", "h100-sxm", "--json", "--lang", code).stdout for code in ("en", "ru")]
    assert spoken[0] == spoken[1]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_character_that_the_terminal_lacks_is_no_error(encoding: str) -> None:
    done = run("gpus", "h100-sxm", env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "?" in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_an_answer_that_cannot_be_written_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "bide", "gpus", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the answer cannot be written")
    assert len(done.stderr.splitlines()) == 1


def test_closed_streams_are_no_crash() -> None:
    for closed, code in ((">&-", 0), ("--batch - <&-", 2)):
        ask = "memory" if "batch" in closed else "gpus l4"
        done = subprocess.run(
            ["sh", "-c", f"{sys.executable} -m bide {ask} {closed}"], capture_output=True, text=True, check=False
        )
        assert done.returncode == code
        assert "Traceback" not in done.stderr
