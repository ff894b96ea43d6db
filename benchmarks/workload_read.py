"""Peak memory and time of `bide workload` on a large trace: `python benchmarks/workload_read.py [ROWS]`.

A trace of ROWS requests (10 million) is drawn and written by `bide workload sample` in several formats, then each is
described, in a process of its own whose peak memory the system tells. The target is 2 GiB at 10 million rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

FORMATS = (
    ("azure", "trace.csv"),
    ("timed-trace", "trace.jsonl"),
    ("bide", "trace.parquet"),
    ("azure", "trace.csv.gz"),
)
MODEL = ("--prompt", "p50=1000,p95=4000", "--answer", "p50=150,p95=500", "--rps", "20", "--arrivals", "gamma")


def run(*args: str) -> tuple[float, float, str]:
    """Seconds, peak GiB and output of `bide workload ARGS`."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "bide", "workload", *args], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    output = process.stdout.read()
    _pid, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"bide workload {' '.join(args)} failed")
    return time.perf_counter() - start, usage.ru_maxrss / 2**20, output


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(f"{rows:,} requests\n{'what':24} {'file MB':>8} {'s':>8} {'requests/s':>12} {'peak GiB':>9}")
    for name, file in FORMATS:
        with TemporaryDirectory() as folder:
            path = Path(folder) / file
            made = run("sample", *MODEL, "--requests", str(rows), "--to", name, "-o", str(path), "--json")
            read = run("describe", str(path), "--json")
            assert json.loads(read[2])["requests"] == rows
            for what, (seconds, gib, _output) in ((f"sample {file}", made), (f"describe {file}", read)):
                size = path.stat().st_size / 1e6
                print(f"{what:24} {size:8,.0f} {seconds:8.1f} {rows / seconds:12,.0f} {gib:9.2f}", flush=True)


if __name__ == "__main__":
    main()
