"""Other load clients on the same server: what each says of it, and what it costs.

Each is a command of an environment of its own (`VENV/bin/vllm`, `VENV/bin/aiperf`), run as its manual says, offline.
Each is run twice, with one request and with all: the start of vLLM's alone takes over 20 s of CPU (minutes on a machine
that is busy otherwise), which would hide what its load costs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUIET = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
LONGEST_S = 1800.0


@dataclass(frozen=True, slots=True)
class Said:
    """What a client measured (seconds) and what it cost, its start and its report included."""

    name: str
    ttft_s: float
    tpot_s: float
    itl_p99_s: float
    tokens: int
    cpu_s: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Asked:
    url: str
    streams: int
    requests: int
    prompt: int
    answer: int
    tokenizer: Path


def by_vllm(venv: Path, asked: Asked) -> Said:
    """`vllm bench serve`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(venv / "bin/vllm"), "bench", "serve", "--backend", "openai-chat", "--model", "any"]
        command += ["--base-url", asked.url, "--endpoint", "/v1/chat/completions", "--tokenizer", str(asked.tokenizer)]
        command += ["--dataset-name", "random", "--random-input-len", str(asked.prompt), "--disable-tqdm"]
        command += ["--random-output-len", str(asked.answer), "--num-prompts", str(asked.requests), "--ignore-eos"]
        command += ["--max-concurrency", str(asked.streams), "--percentile-metrics", "ttft,tpot,itl,e2el"]
        command += ["--save-result", "--result-dir", folder, "--result-filename", "said.json"]
        cost = spent(command, HF_HUB_OFFLINE="1")
        said = json.loads((Path(folder) / "said.json").read_text())
    ttft_s, tpot_s, itl_p99_s = (said[f"{name}_ms"] / 1e3 for name in ("mean_ttft", "mean_tpot", "p99_itl"))
    return Said("vllm bench", ttft_s, tpot_s, itl_p99_s, said["total_output_tokens"], *cost)


def by_aiperf(venv: Path, asked: Asked) -> Said:
    """`aiperf profile`; what it calls inter-token latency is everybody else's TPOT, and p99 is of requests."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(venv / "bin/aiperf"), "profile", "--model", "any", "--url", asked.url, "--streaming"]
        command += ["--endpoint-type", "chat", "--tokenizer", str(asked.tokenizer), "--ui", "none"]
        command += ["--isl", str(asked.prompt), "--isl-stddev", "0", "--osl", str(asked.answer), "--osl-stddev", "0"]
        command += ["--concurrency", str(asked.streams), "--request-count", str(asked.requests)]
        command += ["--artifact-dir", folder, "--no-gpu-telemetry", "--no-server-metrics"]
        command += ["--use-server-token-count", "--extra-inputs", "ignore_eos:true"]
        cost = spent(command)  # with HF_HUB_OFFLINE it takes a folder for the name of a repository
        said: dict[str, Any] = json.loads(next(Path(folder).rglob("profile_export_aiperf.json")).read_text())
    ttft_s, tpot_s = (said[f"{name}"]["avg"] / 1e3 for name in ("time_to_first_token", "inter_token_latency"))
    tokens = round(said["output_sequence_length"]["avg"] * said["request_count"]["avg"])
    return Said("aiperf", ttft_s, tpot_s, float("nan"), tokens, *cost)


BY_NAME: dict[str, Callable[[Path, Asked], Said]] = {"vllm": by_vllm, "aiperf": by_aiperf}


def spent(command: Sequence[str], **settings: str) -> tuple[float, float]:
    """Seconds of CPU of a command and its children, and the largest process's peak in MB. Raises SystemExit."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, env={**os.environ, **QUIET, **settings}, stdout=log, stderr=subprocess.STDOUT
        )
        usage = _ended(process)
        if process.returncode:
            log.seek(0)
            raise SystemExit(f"{command[0]} failed: {log.read().decode(errors='replace')[-600:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def _ended(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """What it used, once it has ended. Raises SystemExit where that takes too long."""
    begun_s = time.monotonic()
    while time.monotonic() < begun_s + LONGEST_S:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        time.sleep(0.1)
    process.kill()
    process.wait()
    raise SystemExit(f"{process.args!r} did not end within {LONGEST_S / 60:.0f} minutes")
