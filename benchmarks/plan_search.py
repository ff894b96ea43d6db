"""How long a plan takes: one service, three kinds of GPU, every tensor parallel size and precision, frontier and all.

    python benchmarks/plan_search.py [AICONFIGURATOR]
    python benchmarks/plan_search.py disaggregated

The second asks for fleets whose prompts are computed by other replicas than those that answer, small, large and behind
a router that draws, and prints a table.

With the path of an `aiconfigurator` command (PyPI's 0.12.0, in an environment of its own) its search runs beside on the
mean request, for each of the three GPUs, since it takes one at a time; it has no arrivals, no percentiles and no trace.

At least 100 candidates, in two processes and in one. Wall time is what a user waits, on a machine with nothing else to
do; CPU time is steadier where there is.
"""

from __future__ import annotations

import csv
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

from bide.plan.answer import Plan
from bide.plan.question import Question
from bide.plan.remembered import forget
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


APART: dict[str, tuple[float, int, list[bool], str]] = {
    "small, or replicas that do both": (12, 64, [False, True], "round-robin"),
    "small, drawn": (12, 64, [True], "random"),
    "large": (300, 2000, [True], "round-robin"),
    "large, drawn": (300, 2000, [True], "random"),
    "large, too few GPUs allowed": (300, 64, [True], "round-robin"),
}
"""Requests a second at the peak, GPUs that are allowed, disaggregated or not, router."""


def apart(rps: float, most_gpus: int, ways: list[bool], router: str) -> Question:
    """Prompts of 6,000 tokens and answers of 200, whose tokens must come soon, on H100 with tensor parallel 1 and 2."""
    lengths = {"prompt": {"p50": 6000, "p95": 12000}, "output": {"p50": 200, "p95": 400}}
    service = {
        "name": "long prompts",
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "workload": {"lengths": lengths},
        "traffic": {"peak_rps": rps, "margin": 1.5},
        "patience": {"ttft_p95": "2s", "tpot_p95": "12ms"},
        "deployment": {"tp": [1, 2]},
        "disaggregated": ways,
    }
    hardware = {"gpus": ["h100-sxm"], "max_gpus": most_gpus}
    given = {"services": [service], "hardware": hardware, "fleet": {"router": router}}
    return question_from(given, EXAMPLES / "benchmark.yaml")


def _said(when_s: list[float], _progress: Progress) -> None:
    when_s.append(time.process_time())


def table_apart() -> None:
    """A line for each question, with the CPU time of the plan and the longest time in which it said nothing."""
    plan(apart(3, 8, [True], "round-robin"))  # warm: compiled code and data are loaded
    print(f"{'question':32} {'CPU':>7} {'silent':>7} {'runs':>5}  answer")
    for name, given in APART.items():
        forget()
        question, said_s = apart(*given), [time.process_time()]
        found = plan(question, progress=partial(_said, said_s))
        said_s.append(time.process_time())
        (service,), silent_s = found.services, max(after - before for before, after in pairwise(said_s))
        assert service.tried is not None
        answer = (
            f"{service.chosen.gpus} GPUs: {service.chosen.name}" if service.chosen else service.rejections[0].reason
        )
        used_s = said_s[-1] - said_s[0]
        print(f"{name:32} {used_s:5.1f} s {silent_s:5.1f} s {service.tried.runs:5}  {answer}")


def timed(question: Question, run: Runner, name: str) -> Plan:
    """One plan that remembers nothing of others, with its times and counts printed."""
    forget()
    shown: set[int] = set()
    wall_s, cpu_s = time.perf_counter(), _cpu_s()

    def said(progress: Progress) -> None:
        best = progress.best[0]
        so_far = f"{best.gpus} x {best.candidate.gpu.id}" if best else "nothing yet"
        seconds = time.perf_counter() - wall_s
        if progress.candidates not in shown:
            print(f"  {seconds:5.1f} s  {progress.candidates} candidates: {so_far}")
        shown.add(progress.candidates)

    found = plan(question, run, progress=said)
    wall_s, cpu_s = time.perf_counter() - wall_s, _cpu_s() - cpu_s
    tried = found.services[0].tried
    assert tried is not None
    print(
        f"{name}: {wall_s:.1f} s, {cpu_s:.1f} s of CPU; {tried.candidates} candidates, {tried.impossible} cannot run, "
        f"{tried.pruned} pruned, {tried.simulated} simulated in {tried.runs} runs"
    )
    return found


def beside(command: str, question: Question) -> None:
    """The other tool's search on the mean request, its times and its fewest GPUs printed."""
    service = question.services[0]
    work = service.workload
    prompt, output = (round(float(column.mean())) for column in (work.prompt_tokens, work.output_tokens))
    asked = ["--isl", prompt, "--osl", output, "--target-request-rate", 60, "--ttft", 1000, "--request-latency", 8000]
    for system in ("h100_sxm", "h200_sxm", "l40s"):
        with tempfile.TemporaryDirectory() as folder:
            wall_s, cpu_s = time.perf_counter(), _cpu_s()
            given = ["--model-path", "meta-llama/Meta-Llama-3.1-8B", "--backend", "vllm", "--system", system, *asked]
            made = [command, "cli", "default", *map(str, given), "--save-dir", folder]
            done = subprocess.run(made, capture_output=True, text=True, check=False)
            wall_s, cpu_s = time.perf_counter() - wall_s, _cpu_s() - cpu_s
            found = [_fewest(path) for path in sorted(Path(folder).rglob("best_config_topn.csv"))]
        said = "; ".join(found) or f"no answer: {done.stderr.strip().splitlines()[-1:]}"
        print(f"aiconfigurator, {system}: {wall_s:.1f} s, {cpu_s:.1f} s of CPU; {said}")


def _fewest(path: Path) -> str:
    """Its first row."""
    with path.open() as file:
        row = next(csv.DictReader(file))
    layout = row.get("parallel") or f"prefill {row.get('(p)parallel')}, decode {row.get('(d)parallel')}"
    return f"{path.parent.name}: {row['total_gpus_needed']} GPUs ({layout}), E2E {row['request_latency']} ms"


def _cpu_s() -> float:
    """Of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> int:
    """Print the times; fail where the answers differ."""
    if sys.argv[1:] == ["disaggregated"]:
        table_apart()
        return 0
    question = question_from(GIVEN, EXAMPLES / "benchmark.yaml")
    small = question_from({**GIVEN, "hardware": {"gpus": ["h100-sxm"], "max_gpus": 8}}, EXAMPLES / "benchmark.yaml")
    plan(small)  # warm: compiled code and data are loaded
    one, two = timed(question, serial, "one process"), timed(question, processes(2), "two processes")
    same = [found.services[0].chosen and found.services[0].chosen.candidate.name for found in (one, two)]
    print(f"answers: {same[0]}; {same[1]}")
    for command in sys.argv[1:]:
        beside(command, question)
    return int(same[0] != same[1])


if __name__ == "__main__":
    sys.exit(main())
