"""The table of measured points: what is written is read, and what cannot be read is refused by name."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from bide.calibrate.points import COLUMNS, OBSERVED, read_points
from bide.errors import BadInput
from bide.simulate.operating import Load, Mix

SHIPPED = Path(__file__).parents[2] / "calibration" / "points.csv"
ROW: dict[str, object] = {
    "curve": "c1",
    "suite": "made",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm",
    "tp": 2,
    "pp": 1,
    "dp": 1,
    "ep": 1,
    "engine": "vllm",
    "engine_version": "0.7.3",
    "weights": "fp8",
    "kv_dtype": None,
    "gpu_memory_utilization": 0.85,
    "prompt_tokens": 239.6,
    "output_tokens": 345,
    "load": "concurrency",
    "load_value": 8,
    "ttft_s": 0.2,
    "tpot_s": None,
    "e2e_s": None,
    "output_tokens_per_s": 116.6,
    "left_out": "",
    "source": "somewhere",
    "licence": "MIT",
}


def write_points(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """What is None is left empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    write_points(path, [ROW, {**ROW, "engine_version": None, "left_out": "odd", "load": "batch"}])
    first, second = read_points(path)
    assert (first.curve, first.model, first.gpu) == ("c1", "Llama-3.1-8B", "h100-sxm")
    assert (first.deployment.tp, first.deployment.weights, first.deployment.gpu_memory_utilization) == (2, "fp8", 0.85)
    assert (first.mix, first.load) == (Mix(239.6, 345.0), Load("concurrency", 8.0))
    assert first.observed == {"ttft_s": 0.2, "output_tokens_per_s": 116.6}
    assert (first.stated, second.stated) == (True, False)
    assert (first.left_out, second.left_out, second.load.kind) == ("", "odd", "batch")


def test_rows_of_one_deployment_share_it(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    write_points(path, [ROW, {**ROW, "load_value": 16}])
    first, second = read_points(path)
    assert first.deployment is second.deployment


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tpot_s": "fast"}, "tpot_s"),
        ({"ttft_s": -1}, "ttft_s"),
        ({"output_tokens": 0}, "output_tokens"),
        ({"load_value": "inf"}, "load_value"),
        ({"tp": "two"}, "tp"),
        ({"load": "open"}, "load"),
        ({"gpu": "h1000"}, "gpu"),
        ({"weights": "fp9"}, "weights"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(tmp_path: Path, changes: dict[str, object], field: str) -> None:
    path = tmp_path / "points.csv"
    write_points(path, [{**ROW, **changes}])
    with pytest.raises(BadInput) as caught:
        read_points(path)
    assert caught.value.field == field


def test_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match="columns"):
        read_points(tmp_path / "points.csv")


def test_every_shipped_point_says_where_it_is_from_and_what_was_measured() -> None:
    with SHIPPED.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) > 500
    assert all(row["source"] and row["licence"] for row in rows)
    points = read_points(SHIPPED)
    assert len(points) == len(rows)
    assert all(point.observed.keys() <= set(OBSERVED) and point.observed for point in points)
