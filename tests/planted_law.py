"""A step law that is known, loads to learn it from, and a load that was not among them."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bide.bench.asking import Ask
from bide.bench.loads import Load
from bide.bench.result import Cell
from bide.bench.session import bench
from bide.bench.target import target_of
from bide.physics.own import StepLaw
from bide.simulate.scheduler.cost import StepCost, StepLoad

LAW = StepLaw(fixed_s=10e-3, per_token_s=30e-6, per_kv_token_s=2e-6, per_sequence_s=4e-4)
"""Each term is a good part of some step below: 512 tokens 15 ms, 8,000 cached ones 16 ms, 16 sequences 6.4 ms."""
DEPLOYMENT: dict[str, Any] = {
    "model": "llama-3.2-3b",
    "gpu": "l4",
    "max_model_len": 4096,
    "max_num_seqs": 64,
    "max_num_batched_tokens": 512,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One level: the load, tokens of prompts and answers as `bide bench` takes them."""

    load: Load
    prompt: str
    answer: str


def _users(count: int, requests: int) -> Load:
    return Load("closed", concurrency=count, requests=requests)


LEARNED = (
    Asked(_users(1, 22), "64", "8"),
    Asked(_users(8, 40), "600", "20"),
    Asked(_users(16, 80), "96", "24"),
    Asked(_users(4, 24), "2000", "16"),
)
"""Few and many at once, short and long: what tells the four coefficients apart."""
MIX = {"prompt": {"p50": 300, "p95": 900}, "output": {"p50": 24, "p95": 48}}
"""As a service file has it: another mix than those above."""


def unseen(rate: float, requests: int) -> Asked:
    """An open loop of that mix."""
    figures = {name: ",".join(f"{key}={value}" for key, value in said.items()) for name, said in MIX.items()}
    return Asked(Load("open", rate=rate, requests=requests), figures["prompt"], figures["output"])


def measured(url: str, asked: Asked, journal: Path, seed: int = 0) -> Cell:
    """What `bide bench` says of it."""
    ask = Ask((asked.load,), prompt=asked.prompt, answer=asked.answer, seed=seed)
    return bench(target_of(url), ask, journal).cells[0]


def learned_from(url: str, folder: Path, loads: Sequence[Asked] = LEARNED) -> list[Path]:
    """Journals of the loads, one after another."""
    journals = []
    for number, asked in enumerate(loads):
        journals.append(folder / f"learned-{number}.jsonl")
        measured(url, asked, journals[-1], seed=number)
    return journals


def truth(url: str) -> dict[str, Any]:
    """What the server did so far."""
    with urllib.request.urlopen(url + "/__truth") as said:
        found: dict[str, Any] = json.load(said)
    return found


def step_errors(law: StepLaw, steps: Sequence[dict[str, Any]]) -> list[float]:
    """|predicted / true - 1| of the server's steps."""
    cost = StepCost.affine(law.fixed_s, law.per_token_s, law.per_kv_token_s, law.per_sequence_s, 512)
    errors = []
    for step in steps:
        content = {name: value for name, value in step.items() if name != "seconds"}
        load = StepLoad(**{**content, "window_kv_tokens": tuple(content["window_kv_tokens"])})
        errors.append(abs(cost.seconds(load) / step["seconds"] - 1))
    return errors


def service_file(peak_rps: float, e2e_p95: str) -> str:
    """A service with that mix on the measured deployment, for `bide plan`."""
    knobs = {key: value for key, value in DEPLOYMENT.items() if key.startswith("max_")}
    service = {
        "name": "planted",
        "model": DEPLOYMENT["model"],
        "workload": {"lengths": MIX},
        "traffic": {"peak_rps": peak_rps},
        "patience": {"e2e_p95": e2e_p95},
        "deployment": knobs,
    }
    return json.dumps({"services": [service], "hardware": {"gpus": [DEPLOYMENT["gpu"]], "max_gpus": 8}})
