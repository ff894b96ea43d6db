"""Pools and blocks against what engines printed at start-up (`startup_logs.json`, with the source of each)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bide.facts.deployment import Deployment
from bide.physics.memory import memory_of
from bide.physics.pool import stage_pools
from bide.units import GIB

LOGS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("startup_logs.json").read_text("utf-8"))["logs"]
PRINTED = 0.005
"""Half of the last digit of a figure printed with two decimals."""


def compared_by(what: str, *figures: str) -> list[dict[str, Any]]:
    """The rows that print `figures` and are not left out of the comparison by `what`."""
    return [log for log in LOGS if what not in log.get("skip", []) and all(f in log["observed"] for f in figures)]


def deployment_of(log: dict[str, Any], folder: Path, **more: object) -> Deployment:
    raw = {**log["deployment"], **more}
    if "config" in log:
        path = folder / f"{log['id']}.json"
        path.write_text(json.dumps(log["config"]), "utf-8")
        raw["model"] = str(path)
    return Deployment.resolve(raw, require_gpu=False)


def blocks_of(log: dict[str, Any], folder: Path) -> Deployment:
    return deployment_of(log, folder, pool_bytes_per_gpu=round(log["observed"]["pool_gib"] * GIB))


@pytest.mark.parametrize("log", compared_by("blocks", "tokens"), ids=lambda log: log["id"])
def test_the_printed_pool_gives_the_printed_tokens(log: dict[str, Any], tmp_path: Path) -> None:
    tokens = memory_of(blocks_of(log, tmp_path)).pool.tokens
    assert tokens == pytest.approx(log["observed"]["tokens"], rel=0.01)


@pytest.mark.parametrize("log", compared_by("blocks", "concurrency"), ids=lambda log: log["id"])
def test_the_printed_pool_gives_the_printed_concurrency(log: dict[str, Any], tmp_path: Path) -> None:
    deployment = blocks_of(log, tmp_path)
    requests = memory_of(deployment).pool.requests(deployment.max_model_len)
    assert requests == pytest.approx(log["observed"]["concurrency"], rel=0.01, abs=PRINTED)


def test_the_interval_holds_nine_pools_of_ten(tmp_path: Path) -> None:
    held = []
    for log in compared_by("pool", "pool_gib"):
        interval = stage_pools(deployment_of(log, tmp_path)).worst.interval_bytes
        observed = log["observed"]["pool_gib"] * GIB
        held.append(interval.low <= observed * (1 + PRINTED) and observed * (1 - PRINTED) <= interval.high)
    assert len(held) >= 15
    assert 0.80 <= sum(held) / len(held) <= 0.97


def test_every_log_names_its_source() -> None:
    assert all(log["source"] for log in LOGS)
    assert len({log["id"] for log in LOGS}) == len(LOGS)
