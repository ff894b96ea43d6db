"""Deployments a second of `bide memory --batch` on one core: `python benchmarks/memory_batch.py [LINES]`.

Every model of the catalogue on five cards at TP 1 and 8, asked at four contexts; start-up is counted
apart. The target is 2,000 a second.
"""

from __future__ import annotations

import io
import json
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

from bide.cli.batch import run_batch
from bide.facts.models import catalogue
from bide.physics.memory_dict import batch_line

GPUS = ("h100-sxm", "h200-sxm", "b200-sxm", "l40s", "mi300x")
CONTEXTS = [2048, 8192, 32768, 131072]


def lines(count: int) -> list[str]:
    """`count` different deployments, and again from the first when they run out."""
    made = [
        {"id": f"{e.id} {gpu} {tp}", "deployment": {"model": e.id, "gpu": gpu, "tp": tp}, "context_tokens": CONTEXTS}
        for gpu in GPUS
        for tp in (1, 8)
        for e in catalogue()
    ]
    return [json.dumps(made[i % len(made)]) for i in range(count)]


def timed(path: Path) -> float:
    """Seconds for one pass over the file."""
    start = time.perf_counter()
    with redirect_stdout(io.StringIO()):
        run_batch(path, batch_line)
    return time.perf_counter() - start


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with TemporaryDirectory() as folder:
        path = Path(folder) / "deployments.jsonl"
        path.write_text("\n".join(lines(count)))
        passes = {"first (every model is read)": timed(path), "again (models kept)": timed(path)}
    print(f"{'pass':32} {'s':>8} {'deployments/s':>15}")
    for name, seconds in passes.items():
        print(f"{name:32} {seconds:8.2f} {count / seconds:15,.0f}")


if __name__ == "__main__":
    main()
