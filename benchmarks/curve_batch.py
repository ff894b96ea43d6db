"""Points a second of `bide curve --batch` on one core: `python benchmarks/curve_batch.py [LINES]`.

Every model of the catalogue on five cards at TP 1 and 8, each at eight loads of three kinds; start-up is
counted apart. Deployments that do not fit are answered (with the reason) and counted too. The target is
5,000 a second once the deployments are known.
"""

from __future__ import annotations

import io
import json
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from bide.cli.batch import run_batch_chunks
from bide.facts.models import catalogue
from bide.simulate.curve_lines import CurveLines

GPUS = ("h100-sxm", "h200-sxm", "b200-sxm", "l40s", "mi300x")
LOADS: tuple[tuple[str, float], ...] = (
    ("concurrency", 1),
    ("concurrency", 8),
    ("concurrency", 64),
    ("concurrency", 256),
    ("requests_per_s", 0.5),
    ("requests_per_s", 4),
    ("batch", 64),
    ("batch", 1000),
)


def lines(count: int) -> list[str]:
    """`count` different points, and again from the first when they run out."""
    made = [
        {
            "id": f"{entry.id} {gpu} {tp} {kind} {load}",
            "deployment": {"model": entry.id, "gpu": gpu, "tp": tp},
            "prompt_tokens": 1000,
            "output_tokens": 500,
            kind: load,
        }
        for gpu in GPUS
        for tp in (1, 8)
        for entry in catalogue()
        for kind, load in LOADS
    ]
    return [json.dumps(made[i % len(made)]) for i in range(count)]


def timed(path: Path, answer: CurveLines) -> tuple[float, int]:
    """Processor seconds for one pass over the file, and how many lines were refused."""
    out = io.StringIO()
    start = time.process_time()
    with redirect_stdout(out):
        run_batch_chunks(path, answer)
    return time.process_time() - start, sum('"error"' in line for line in out.getvalue().splitlines())


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    answer = CurveLines()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "points.jsonl"
        path.write_text("\n".join(lines(count)))
        passes = {"first (every deployment is new)": timed(path, answer), "again": timed(path, answer)}
    print(f"{'pass':34} {'s':>8} {'points/s':>10} {'refused':>9}")
    for name, (seconds, refused) in passes.items():
        print(f"{name:34} {seconds:8.2f} {count / seconds:10,.0f} {refused:9,}")


if __name__ == "__main__":
    main()
