"""How long `bide` takes to answer from a cold start, beside a bare typer + rich program that prints one table.

    python benchmarks/cold_start.py [--runs 15]

Every command runs in a fresh interpreter of this environment; the commands take turns, so that a
busy machine slows all of them alike; the median is shown. Target: `bide memory` at most 1.5 times
the typer + rich program.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET = 1.5
BASELINE = "typer + rich, one table"
MEMORY = "bide memory llama-3.1-8b --gpu h100-sxm"
TYPER_PROGRAM = """
import typer
from rich.console import Console
from rich.table import Table

app = typer.Typer()


@app.command()
def show(name: str = "world") -> None:
    table = Table(title="Hello")
    table.add_column("name")
    table.add_column("value", justify="right")
    for number in range(8):
        table.add_row(f"{name} {number}", str(number))
    Console().print(table)


app()
"""


def commands(program: Path) -> dict[str, list[str]]:
    """What is timed, by the name that the table shows."""
    bide = [sys.executable, "-m", "bide"]
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import click": [sys.executable, "-c", "import click"],
        BASELINE: [sys.executable, str(program)],
        "bide --help": [*bide, "--help"],
        "bide gpus": [*bide, "gpus"],
        MEMORY: [*bide, *MEMORY.split()[1:]],
        MEMORY + " --json": [*bide, *MEMORY.split()[1:], "--json"],
    }


def wall_s(command: list[str]) -> float:
    """Seconds from start to exit of one run; raises CalledProcessError where it fails."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def medians_s(timed: dict[str, list[str]], runs: int) -> dict[str, float]:
    """The median of `runs` runs of each, taken in turns after one that warms the disk's cache."""
    samples: dict[str, list[float]] = {name: [] for name in timed}
    for turn in range(runs + 1):
        for name, command in timed.items():
            seconds = wall_s(command)
            if turn:
                samples[name].append(seconds)
    return {name: statistics.median(seen) for name, seen in samples.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "table.py"
        program.write_text(TYPER_PROGRAM)
        medians = medians_s(commands(program), runs)
    print(f"median of {runs} runs, in turns, Python {sys.version.split()[0]}\n")
    print(f"{'command':<50}{'ms':>8}{'of typer + rich':>18}")
    for name, seconds in medians.items():
        print(f"{name:<50}{seconds * 1e3:>8.0f}{seconds / medians[BASELINE]:>17.2f}x")
    ratio = medians[MEMORY] / medians[BASELINE]
    print(f"\nbide memory: {ratio:.2f}x, target at most {TARGET}x: {'met' if ratio <= TARGET else 'MISSED'}")
    return 0 if ratio <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
