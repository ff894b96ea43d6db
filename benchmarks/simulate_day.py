"""A day at 20 requests a second, and 10,000 requests, end to end from the command line: seconds, seconds of CPU and
peak memory, start-up included. Targets: the day in 10 s and 2 GiB, 10,000 requests in 3 s.

    python benchmarks/simulate_day.py [RATE] [HOURS]

Writes the trace first (lognormal lengths with the means of Azure's conversation trace of 2023: prompts of 1,155 tokens,
answers of 211; two replicas, because one H100 cannot hold that rate), runs once to compile, and then measures.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def main() -> None:
    rate, hours = (float(value) for value in [*sys.argv[1:], "20", "24"][:2])
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "day.parquet"
        _write(trace, rate, int(rate * hours * 3600))
        short = Path(folder) / "short.csv"
        _write(short, rate, 10_000)
        _run(short, ["--requests", "2000"])
        for name, path, extra in (
            ("10,000 requests", short, []),
            ("the day: figures only", trace, ["--no-step-error"]),
            ("the day: with the steps' error", trace, []),
            ("and a Parquet file of requests", trace, ["-o", str(Path(folder) / "out.parquet")]),
        ):
            seconds, cpu_s, peak_gib = _run(path, extra)
            print(f"{name:32} {seconds:6.2f} s  {cpu_s:6.2f} s of CPU  {peak_gib:5.2f} GiB", flush=True)


def _write(path: Path, rate: float, count: int) -> None:
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1)
    columns = {
        "arrival_s": np.cumsum(rng.exponential(1 / rate, count)),
        "prompt_tokens": _lognormal(rng, 1155, 1.0, count),
        "output_tokens": _lognormal(rng, 211, 0.8, count),
    }
    frame = pl.DataFrame(columns)
    frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)
    print(f"{count:,} requests")


def _lognormal(rng: np.random.Generator, mean: float, sigma: float, count: int) -> NDArray[np.int64]:
    return rng.lognormal(math.log(mean) - sigma**2 / 2, sigma, count).astype(int).clip(1, 8000)


def _run(trace: Path, extra: list[str]) -> tuple[float, float, float]:
    """Seconds, seconds of CPU, and the child's own peak resident memory in GiB."""
    command = [sys.executable, "-m", "bide", "simulate", "llama-3.1-8b", "--gpu", "h100-sxm", "--replicas", "2"]
    begun = time.perf_counter()
    asked = [*command, "--workload", str(trace), *extra, "--json"]
    child = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"exit status {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


if __name__ == "__main__":
    main()
