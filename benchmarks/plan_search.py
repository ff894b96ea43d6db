"""How long a plan takes: one service, three kinds of GPU, every tensor parallel size and precision, frontier and all.

    python benchmarks/plan_search.py

At least 100 candidates, in two processes and in one. Wall time is what a user waits, on a machine with nothing else to
do; CPU time is steadier where there is.
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from bide.plan.answer import Plan
from bide.plan.question import Question
from bide.plan.search import Progress, plan
from bide.plan.service_file import question_from
from bide.runners import Runner, processes, serial

EXAMPLES = Path(__file__).parent.parent / "examples"
GIVEN: dict[str, object] = {
    "services": [
        {
            "name": "chat",
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "workload": {"trace": "traces/azure-conv-2023-peak15min.csv"},
            "traffic": {"peak_rps": 40, "margin": 1.5},
            "patience": {"e2e_p95": "8s", "ttft_p95": "1s"},
            "deployment": {"weights": ["auto", "fp8"], "kv_dtype": ["auto", "fp8"]},
        }
    ],
    "hardware": {"gpus": ["h100-sxm", "h200-sxm", "l40s"], "max_gpus": 64},
}


def timed(question: Question, run: Runner, name: str) -> Plan:
    """One plan, with its times and counts printed."""
    wall_s, cpu_s = time.perf_counter(), _cpu_s()

    def said(progress: Progress) -> None:
        best = progress.best[0]
        so_far = f"{best.gpus} x {best.candidate.gpu.id}" if best else "nothing yet"
        seconds = time.perf_counter() - wall_s
        print(f"  {seconds:5.1f} s  {progress.done} of {progress.total}, {progress.candidates} candidates: {so_far}")

    found = plan(question, run, progress=said)
    wall_s, cpu_s = time.perf_counter() - wall_s, _cpu_s() - cpu_s
    tried = found.services[0].tried
    assert tried is not None
    print(
        f"{name}: {wall_s:.1f} s, {cpu_s:.1f} s of CPU; {tried.candidates} candidates, {tried.impossible} cannot run, "
        f"{tried.pruned} pruned, {tried.simulated} simulated in {tried.runs} runs"
    )
    return found


def _cpu_s() -> float:
    """Of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> int:
    """Print the times; fail where the answers differ."""
    question = question_from(GIVEN, EXAMPLES / "benchmark.yaml")
    small = question_from({**GIVEN, "hardware": {"gpus": ["h100-sxm"], "max_gpus": 8}}, EXAMPLES / "benchmark.yaml")
    plan(small)  # warm: compiled code and data are loaded
    one, two = timed(question, serial, "one process"), timed(question, processes(2), "two processes")
    same = [found.services[0].chosen and found.services[0].chosen.candidate.name for found in (one, two)]
    print(f"answers: {same[0]}; {same[1]}")
    return int(same[0] != same[1])


if __name__ == "__main__":
    sys.exit(main())
