"""aiconfigurator's own predictions of measured runs, beside bide's.

`python benchmarks/against_aiconfigurator.py CASES [--configs FOLDER] [--bide COMMAND] [--by suite|gpu|engine|model]`

CASES: a JSON object a line, with `deployment`, `prompt_tokens`, `output_tokens`, `load` (`concurrency` or `offline`,
and a value) and `observed`. Needs bide[measured]; `--bide COMMAND` asks `COMMAND curve --batch` for the same points.

aiconfigurator is asked as its own sweep asks: a closed loop is its aggregated (continuous batching) estimate with a
prompt of context tokens a step; requests sent all at once are its static batch where they fit the card by its own
reckoning, else the aggregated estimate of the largest batch that fits. It has no open loop.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from bide.errors import BideError
from bide.facts.deployment import Deployment
from bide.physics.measured import Uncovered
from bide.physics.measured.database import REFUSALS, refusal_text
from bide.physics.measured.query import Query, queries

METRICS = ("tpot_s", "ttft_s", "e2e_s", "output_tokens_per_s")
MOST_SEQUENCES = 1024
CONTEXT_TOKENS = 8192
Case = dict[str, Any]
Prediction = dict[str, float]


@dataclass(frozen=True)
class Theirs:
    """aiconfigurator's model, database and backend for one query."""

    model: Any
    database: Any
    backend: Any
    groups: int
    """Batches at once: data-parallel groups x pipeline stages."""

    def closed_loop(self, prompt: int, output: int, clients: float) -> tuple[Prediction, bool]:
        """Its aggregated estimate, and whether the batch is too big for the card."""
        batch = max(1, round(clients / self.groups))
        self.backend._agg_cache.clear()  # it keeps answers, and their times are measured here
        asked = self._runtime(prompt, output, batch)
        context = min(prompt, CONTEXT_TOKENS)
        summary = self.backend.run_agg(self.model, self.database, asked, ctx_tokens=context)
        found = summary.get_result_dict()
        return {**_times(found), "output_tokens_per_s": found["tokens/s"]}, bool(summary.check_oom())

    def at_once(self, prompt: int, output: int, requests: float) -> Prediction:
        """A static batch where it fits, else the throughput of the largest batch that does."""
        batch = max(1, round(requests / self.groups))
        if batch <= MOST_SEQUENCES:
            summary = self.backend.run_static(self.model, self.database, self._runtime(prompt, output, batch), "static")
            if not summary.check_oom():
                found = summary.get_summary_df().iloc[0]
                return {**_times(found), "output_tokens_per_s": requests * output / _times(found)["e2e_s"]}
        return {"output_tokens_per_s": self._fullest(prompt, output, batch)["output_tokens_per_s"]}

    def _fullest(self, prompt: int, output: int, most: int) -> Prediction:
        low, high = 1, min(most, MOST_SEQUENCES) + 1
        while high - low > 1:
            middle = (low + high) // 2
            too_big = self.closed_loop(prompt, output, middle * self.groups)[1]
            low, high = (low, middle) if too_big else (middle, high)
        return self.closed_loop(prompt, output, low * self.groups)[0]

    @staticmethod
    def _runtime(prompt: int, output: int, batch: int) -> Any:
        from aiconfigurator_core.sdk import RuntimeConfig

        return RuntimeConfig(batch_size=batch, isl=prompt, osl=output)


def _times(row: Any) -> Prediction:
    return {"tpot_s": row["tpot"] / 1000, "ttft_s": row["ttft"] / 1000, "e2e_s": row["request_latency"] / 1000}


@cache
def theirs(query: Query) -> Theirs:
    """aiconfigurator's model for `query`. Raises what it raises for what it lacks."""
    from aiconfigurator_core.sdk import perf_database
    from aiconfigurator_core.sdk.backends.factory import get_backend
    from aiconfigurator_core.sdk.config_builders import build_model_config
    from aiconfigurator_core.sdk.models import get_model

    logging.disable(logging.WARNING)
    directory = tempfile.mkdtemp(prefix="bide-", dir=_scratch().name)
    Path(directory, "config.json").write_text(query.config)
    config = build_model_config(
        query.tp,
        query.pp,
        query.attention_dp,
        query.moe_tp,
        query.moe_ep,
        gemm_quant_mode=query.linear,
        moe_quant_mode=query.experts,
        kvcache_quant_mode=query.cache,
        fmha_quant_mode=query.attention,
    )
    version = perf_database.resolve_query_version(query.system, query.backend, "current")
    database = perf_database.get_database(query.system, query.backend, version)
    model = get_model(directory, config, query.backend)
    found = Theirs(model, database, get_backend(query.backend), query.attention_dp * query.pp)
    found.closed_loop(128, 8, 1)
    return found


@cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """Where models' configs lie until the end: aiconfigurator reads them again."""
    return tempfile.TemporaryDirectory(prefix="bide-")


def predict(case: Case) -> Prediction | Uncovered:
    """aiconfigurator's prediction of a case, or why it has none."""
    if case["load"]["kind"] == "rate":
        return Uncovered("layout", "open loop")
    try:
        asked = queries(Deployment.resolve(deployment_of(case)), corrected=False)
    except BideError as error:
        return Uncovered("model", str(error))
    if isinstance(asked, Uncovered):
        return asked
    prompt, output, load = round(case["prompt_tokens"]), round(case["output_tokens"]), case["load"]["value"]
    refusal = ""
    for query in asked:
        try:
            engine = theirs(query)
            if case["load"]["kind"] == "offline":
                return engine.at_once(prompt, output, load)
            return engine.closed_loop(prompt, output, load)[0]
        except REFUSALS as error:
            refusal = refusal or refusal_text(error)
    return Uncovered("data", refusal)


def deployment_of(case: Case) -> dict[str, Any]:
    return {key: value for key, value in case["deployment"].items() if value is not None}


def bide_predictions(cases: Iterable[Case], command: str) -> dict[str, Prediction]:
    """What `command curve --batch` says of the cases, by id; empty where the command does not answer."""
    if shutil.which(shlex.split(command)[0]) is None:
        return {}
    keys = {"concurrency": "concurrency", "rate": "requests_per_s", "offline": "batch"}
    lines = [
        {
            "id": case["id"],
            "deployment": deployment_of(case),
            "prompt_tokens": case["prompt_tokens"],
            "output_tokens": case["output_tokens"],
            keys[case["load"]["kind"]]: case["load"]["value"],
        }
        for case in cases
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.write("\n".join(map(json.dumps, lines)))
        file.flush()
        called = [*shlex.split(command), "curve", "--batch", file.name]
        done = subprocess.run(called, check=False, capture_output=True, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {answer["id"]: answer for answer in answers if "error" not in answer}


def observed(case: Case, curve: list[Case]) -> Iterator[tuple[str, float]]:
    """The measured metrics of a case that a steady state can be held to: TTFT only where requests do not queue."""
    for metric in METRICS:
        value = case["observed"].get(metric)
        value = value.get("mean", value.get("p50")) if isinstance(value, dict) else value
        if value and (metric != "ttft_s" or not _queues(case, curve)):
            yield metric, value


def _queues(case: Case, curve: list[Case]) -> bool:
    """Whether the throughput of the curve has stopped rising before this case (or it is offline)."""
    if case["load"]["kind"] != "concurrency":
        return True
    below = [c for c in curve if c["load"]["value"] < case["load"]["value"] and _throughput(c)]
    before = max(below, key=lambda c: c["load"]["value"], default=None)
    if before is None or not _throughput(case):
        return False
    return _throughput(case) < _throughput(before) * (case["load"]["value"] / before["load"]["value"]) ** 0.25


def _throughput(case: Case) -> float:
    """Output tokens a second, measured or by Little's law; 0 where neither is known."""
    seen = case["observed"]
    if seen.get("output_tokens_per_s"):
        return float(seen["output_tokens_per_s"])
    ttft, tpot, e2e = (((seen.get(key) or {}).get("mean")) for key in ("ttft_s", "tpot_s", "e2e_s"))
    if not e2e and ttft and tpot:
        e2e = ttft + tpot * (case["output_tokens"] - 1)
    return case["load"]["value"] * case["output_tokens"] / e2e if e2e else 0.0


def errors_table(cases: list[Case], answers: dict[str, Prediction], by: str) -> str:
    """Median and 90th percentile of |predicted / measured - 1| by `by` and metric, over the cases that have both."""
    curves: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        curves[case["curve"]].append(case)
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for case in cases:
        for metric, value in observed(case, curves[case["curve"]]):
            predicted = answers.get(case["id"], {}).get(metric)
            if predicted:
                for group in ("all", str(case["suite"] if by == "suite" else case["deployment"].get(by))):
                    found[group, metric].append(predicted / value - 1)
    rows = [f"{by:26} {'metric':20} {'points':>6} {'median':>8} {'p90':>8} {'bias':>8}"]
    for (group, metric), signed in sorted(found.items(), key=lambda item: (item[0][0] != "all", item[0])):
        sizes = sorted(abs(error) for error in signed)
        p90 = sizes[min(len(sizes) - 1, math.floor(0.9 * len(sizes)))]
        middle, bias = statistics.median(sizes), statistics.median(signed)
        rows.append(f"{group:26} {metric:20} {len(sizes):6} {middle:8.1%} {p90:8.1%} {bias:+8.1%}")
    return "\n".join(rows)


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    answer = action()
    return answer, time.perf_counter() - start


def read_cases(path: Path, configs: Path | None) -> list[Case]:
    """The cases of a file that state a load; models are read from `configs` where it has their config file."""
    cases = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    for case in cases:
        file = configs / case.get("config_file", "") if configs else None
        if file and file.is_file():
            case["deployment"]["model"] = str(file)
    return [case for case in cases if case["load"]["value"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--configs", type=Path, help="folder of config.json files, named by the cases' config_file")
    parser.add_argument("--bide", default="bide", help="command that answers `curve --batch`")
    parser.add_argument("--by", default="suite", help="suite, or a key of the deployment (gpu, engine, weights, ...)")
    given = parser.parse_args()
    cases = read_cases(given.cases, given.configs)
    first, first_s = timed(lambda: {case["id"]: predict(case) for case in cases})
    answers = {name: answer for name, answer in first.items() if not isinstance(answer, Uncovered)}
    lacking = Counter((a.lack, a.reason) for a in first.values() if isinstance(a, Uncovered))
    print(f"aiconfigurator answers {len(answers)} of {len(cases)} points; not:")
    for (lack, reason), count in lacking.most_common():
        print(f"  {count:4} {lack:8} {reason}")
    print(errors_table(cases, answers, given.by))
    print(f"{first_s / len(cases) * 1e6:,.0f} us a point, with loading and compiling")
    print("then again (it keeps the engines of few deployments):")
    for kind in ("concurrency", "offline"):
        again = [case for case in cases if case["id"] in answers and case["load"]["kind"] == kind]
        seconds = timed(partial(list, map(predict, again)))[1]
        print(f"  {kind:12} {seconds / max(1, len(again)) * 1e6:9,.0f} us a point")
    ours, ours_s = timed(lambda: bide_predictions(cases, given.bide))
    if ours:
        print(f"\nbide, the same points ({ours_s / len(ours) * 1e6:,.0f} us each with start-up)")
        print(errors_table(cases, {name: ours[name] for name in answers if name in ours}, given.by))
        print(f"\nbide, all {len(ours)} points that it answers")
        print(errors_table(cases, ours, given.by))


if __name__ == "__main__":
    main()
