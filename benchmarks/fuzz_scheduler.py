"""The reference scheduler against the kernel on random cases: `python benchmarks/fuzz_scheduler.py [CASES] [FIRST]`.

Every case runs in the reference, in the kernel step by step, and in the kernel as fast as it goes;
decisions of every step and the times of every request must be equal to the bit. Prints how many
preemptions and prefix hits the cases had, and each case that differs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from drawn_schedules import compare, draw


def main() -> int:
    given = [int(value) for value in sys.argv[1:]]
    count, first = (*given, *(10_000, 0)[len(given) :])
    totals: Counter[str] = Counter()
    different, start_s = 0, time.perf_counter()
    for seed in range(first, first + count):
        case = draw(seed)
        made = compare(case, sample_every_s=0.01 if seed % 2 else None)
        totals["requests"] += len(case.requests)
        totals["steps"] += len(made.records)
        totals["cruised steps"] += made.kernel.steps - made.kernel.planned_steps
        totals["preemptions"] += int(made.reference.preemptions.sum())
        totals["prefix hits"] += sum(len(record.hits) for record in made.records)
        totals["unfinished"] += int((made.reference.finish_s != made.reference.finish_s).sum())
        if (difference := made.difference) is not None:
            different += 1
            print(f"seed {seed}: {case.words}: {difference}"[:600], flush=True)
        if (seed + 1 - first) % 1000 == 0:
            print(f"{seed + 1 - first:,} cases, {different} differ", file=sys.stderr, flush=True)
    said = ", ".join(f"{value:,} {name}" for name, value in totals.items())
    print(f"{count:,} cases, {different} differ; {said}; {time.perf_counter() - start_s:.0f} s")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
