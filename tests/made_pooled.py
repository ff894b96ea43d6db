"""A disaggregated plan that is made once, of one candidate and without a frontier."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from bide.plan import basket, search
from bide.plan.answer import Plan
from bide.plan.service_file import read_question
from made_plans import ONE_CANDIDATE
from plan_inputs import FILE, LLAMA


@cache
def pooled_plan() -> Plan:
    """Long prompts between tokens that must come soon, on replicas of two H100s, with one of each to spare."""
    content: dict[str, Any] = copy.deepcopy(FILE)
    content["services"][0] |= {
        "workload": {"lengths": {"prompt": {"p50": 5000, "p95": 9000}, "output": {"p50": 150, "p95": 300}}},
        "traffic": {"peak_rps": 6, "margin": 1.5, "hours": "office"},
        "patience": {"ttft_p95": "2s", "tpot_p95": "8ms"},
        "deployment": {**ONE_CANDIDATE, "tp": 2},
        "disaggregated": [False, True],
        "api_price": {"input": 0.15, "output": 0.6},
    }
    content["fleet"] = {"spare_replicas": 1}
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(basket, "REQUESTS", 600)
        (Path(folder) / "llama.json").write_text(json.dumps(LLAMA), encoding="utf-8")
        path = Path(folder) / "service.yaml"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return search.plan(read_question(path))
