"""The closed loop on a server whose step law is known: measure, learn, predict, plan, measure again.

    python benchmarks/closed_loop.py [--rounds 3]

The server (tests/law_server.py) plays the simulator's reference scheduler in real time. Each round measures it anew and
prints what came back of its coefficients, how far off steps of unseen loads are, and whether a plan keeps its word.
Prints Markdown (docs/closed-loop.md holds one).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planted_loop import Loop

TESTS = Path(__file__).resolve().parents[1] / "tests"
COEFFICIENTS = ("fixed_s", "per_token_s", "per_kv_token_s", "per_sequence_s")
RATES = (2.0, 8.0, 16.0)
"""Of the unseen mix: idle, busy, and near what the server can do."""


@dataclass(frozen=True, slots=True)
class Row:
    """One round: ratios to the truth, and the largest step error at each rate."""

    ratios: list[float]
    request_s: float
    step_errors: list[float]
    loop: Loop


def measured_round() -> Row:
    """Once around, and unseen loads at several rates."""
    from law_server import law_served
    from planted_law import DEPLOYMENT, LAW, measured, step_errors, truth, unseen
    from planted_loop import run_loop

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        loop = run_loop(folder)
        off = []
        with law_served(DEPLOYMENT, LAW) as url:
            for number, rate in enumerate(RATES):
                before = len(truth(url)["steps"])
                measured(url, unseen(rate, round(10 * rate)), folder / f"unseen-{number}.jsonl", seed=20 + number)
                off.append(max(step_errors(loop.law, truth(url)["steps"][before:])))
    ratios = [getattr(loop.law, name) / getattr(LAW, name) for name in COEFFICIENTS]
    return Row(ratios, loop.law.request_s, off, loop)


def print_rows(rows: list[Row]) -> None:
    """Two tables: coefficients and steps; what the plan promised and what came."""
    print("| round | " + " | ".join(COEFFICIENTS) + " | outside the steps | " + _rates() + " |")
    print("|" + "---|" * (len(COEFFICIENTS) + len(RATES) + 2))
    for number, row in enumerate(rows, 1):
        cells = [*(f"{ratio - 1:+.1%}" for ratio in row.ratios), f"{row.request_s * 1e3:.1f} ms"]
        print(f"| {number} | " + " | ".join([*cells, *(f"{error:.1%}" for error in row.step_errors)]) + " |")
    print("\n| round | replicas | requests/s each | E2E p95 allowed | promised (range) | measured |")
    print("|---|---|---|---|---|---|")
    for number, row in enumerate(rows, 1):
        print(f"| {number} | " + " | ".join(_kept(row.loop)) + " |")


def _kept(loop: Loop) -> list[str]:
    """What the plan promised for one replica, and what it did."""
    from bide import metrics

    option, (limit,) = loop.option, loop.option.candidate.service.patience
    promised = option.reading.seconds[limit.measure]
    assert promised is not None
    came_s = metrics.summary(metrics.latency_s(loop.cell.table, "e2e"), 95)
    said = f"{promised.mid:.2f} s ({promised.low:.2f} to {promised.high:.2f})"
    rate = option.reading.requests_per_s
    return [str(option.replicas), f"{rate:g}", f"{limit.seconds:g} s", said, f"{came_s:.2f} s"]


def _rates() -> str:
    return " | ".join(f"largest step error at {rate:g} requests/s" for rate in RATES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    sys.path.insert(0, str(TESTS))
    before = os.getloadavg()[0]
    print_rows([measured_round() for _ in range(rounds)])
    print(f"\nLoad average: {before:.1f} before, {os.getloadavg()[0]:.1f} after.")


if __name__ == "__main__":
    main()
