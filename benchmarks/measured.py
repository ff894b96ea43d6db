"""How well measured kernels survive lowering to a StepTable, and how long that takes: `python benchmarks/measured.py`.

For each deployment: seconds to load and lower (the first of a card reads its kernels), microseconds to look the table
up again, and the table's errors against the database's own decode and prefill latencies. Needs bide[measured].
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bide.facts.deployment import Deployment
from bide.physics.measured import Measured, Uncovered, measured_table
from bide.physics.measured.database import compiled
from bide.physics.stepwork import kv_read

DEPLOYMENTS: tuple[dict[str, Any], ...] = (
    {"model": "meta-llama/Llama-3.1-8B", "gpu": "h100-sxm"},
    {"model": "meta-llama/Llama-3.1-70B", "gpu": "h100-sxm", "tp": 4, "weights": "fp8"},
    {"model": "Qwen/Qwen3-32B-FP8", "gpu": "h100-sxm", "tp": 2},
    {"model": "MiniMaxAI/MiniMax-M2.5", "gpu": "h200-sxm", "tp": 4, "ep": 4},
    {"model": "openai/gpt-oss-120b", "gpu": "h200-sxm", "tp": 2},
    {"model": "moonshotai/Kimi-K2.5", "gpu": "h200-sxm", "tp": 8},
    {"model": "Qwen/Qwen3.5-35B-A3B", "gpu": "h200-sxm"},
    {"model": "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "gpu": "h200-sxm"},
    {"model": "MiniMaxAI/MiniMax-M2.5", "gpu": "b200-sxm", "tp": 4},
    {"model": "meta-llama/Llama-3.1-70B", "gpu": "b200-sxm", "tp": 2, "weights": "nvfp4", "engine": "trtllm"},
    {"model": "deepseek-ai/DeepSeek-R1", "gpu": "b200-sxm", "tp": 8, "engine": "trtllm"},
    {"model": "deepseek-ai/DeepSeek-V3.2", "gpu": "h200-sxm", "tp": 8, "engine": "sglang"},
    {"model": "mistralai/Mixtral-8x7B-v0.1", "gpu": "a100-80g-sxm", "tp": 2},
    {"model": "meta-llama/Llama-3.1-8B", "gpu": "l40s"},
    {"model": "Qwen/Qwen2.5-7B-Instruct", "gpu": "l40s", "weights": "awq"},
    {"model": "google/gemma-3-27b-it", "gpu": "h100-sxm"},
)
SEQUENCES = (1, 2, 5, 8, 16, 29, 64, 100, 200, 256)
CONTEXTS = (200, 700, 2000, 5000, 12_000)
PROMPTS = (50, 128, 300, 700, 1024, 2000, 4000, 8000)
USED = 0.8
"""Of the card, at most, by the cache in a case."""
LOOKUPS = 1000


def decode_errors(found: Measured, deployment: Deployment) -> list[float]:
    kernels, table, read = compiled(found.query), found.table, kv_read(deployment)
    usable_bytes = deployment.gpu.usable_bytes if deployment.gpu else 0
    errors = []
    for sequences in SEQUENCES:
        for context in CONTEXTS:
            if sequences * read.mean_bytes(context, 0) > USED * usable_bytes:
                continue
            lowered_s = float(table.decode_s(sequences, read.mean_bytes(context, 0)))
            errors.append(lowered_s / kernels.predict_decode_latency(sequences, context, 2) * 1000 - 1)
    return errors


def prefill_errors(found: Measured) -> list[float]:
    kernels, table = compiled(found.query), found.table
    errors = []
    for prompt in PROMPTS:
        lowered_s = float(table.linear(0) + table.prefill_s(prompt, max(PROMPTS)))
        errors.append(lowered_s / kernels.predict_prefill_latency(1, prompt) * 1000 - 1)
    return errors


def summary(errors: list[float]) -> str:
    return f"{np.median(np.abs(errors)):7.1%} {np.quantile(np.abs(errors), 0.9):7.1%}"


def main() -> None:
    print(f"{'deployment':62} {'load s':>7} {'again us':>8}  {'decode med p90':>15}  {'prefill med p90':>15}  source")
    decode, prefill = [], []
    for keys in DEPLOYMENTS:
        deployment = Deployment.resolve(keys)
        start = time.perf_counter()
        found = measured_table(deployment)
        loaded = time.perf_counter()
        for _ in range(LOOKUPS):
            measured_table(deployment)
        again_us = (time.perf_counter() - loaded) / LOOKUPS * 1e6
        name = " ".join(map(str, keys.values()))
        if isinstance(found, Uncovered):
            print(f"{name:62} {loaded - start:7.2f} {again_us:8.1f}  not covered ({found.lack}): {found.reason}")
            continue
        errors = decode_errors(found, deployment), prefill_errors(found)
        decode += errors[0]
        prefill += errors[1]
        told = "  ".join(map(summary, errors))
        print(f"{name:62} {loaded - start:7.2f} {again_us:8.1f}  {told}  {found.source}")
    print(f"{'all':62} {'':7} {'':8}  {summary(decode)}  {summary(prefill)}")


if __name__ == "__main__":
    main()
