"""`bide gpus`: the table, one GPU with its sources, JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bide.cli.main import main
from bide.facts.gpus import all_gpus


def ask(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["gpus", *args]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def ask_json(capsys: pytest.CaptureFixture[str], *args: str) -> list[dict[str, Any]]:
    answer = json.loads(ask(capsys, *args, "--json"))
    assert answer["schema"] == "bide.gpus/1"
    gpus: list[dict[str, Any]] = answer["gpus"]
    return gpus


def test_the_table_has_every_gpu_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ask(capsys).splitlines()
    for gpu in all_gpus():
        assert len([line for line in lines if line.split() and line.split()[0] == gpu.id]) == 1


def test_unverified_figures_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    lines = {line.split()[0]: line for line in ask(capsys).splitlines() if line.strip()}
    assert "210?" in lines["rtx-5090"]  # no source seen for its peak
    assert "989" in lines["h100-sxm"]
    assert "?" not in lines["h100-sxm"]


def test_a_narrow_terminal_loses_columns_not_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table = ask(capsys).split("\n\n")[0]
    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in table
    assert "a100-80g-pcie" in table


def test_one_gpu_shows_each_figure_with_source_and_date(capsys: pytest.CaptureFixture[str]) -> None:
    out = ask(capsys, "h100-sxm")
    for said in (
        "79.65 GiB",
        "79.19 GiB",
        "3,350 GB/s",
        "989.4 TFLOPS",
        "700 W",
        "2.29 USD/h",
        "2026-08-21",
        "bf16 295",
    ):
        assert said in out


def test_json_gives_value_unit_source_and_date(capsys: pytest.CaptureFixture[str]) -> None:
    (gpu,) = ask_json(capsys, "H100")
    memory = gpu["figures"]["memory"]
    assert (memory["value"], memory["unit"], memory["kind"], memory["verified"]) == (
        81559 * 2**20,
        "bytes",
        "driver",
        True,
    )
    assert memory["checked"]
    assert gpu["ridge_flop_per_byte"]["bf16"] == pytest.approx(295.34, abs=0.01)


def test_text_that_names_no_gpu_is_searched_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert {gpu["id"] for gpu in ask_json(capsys, "geforce rtx")} == {"rtx-3090", "rtx-4090", "rtx-5090"}


def test_a_vendor_narrows(capsys: pytest.CaptureFixture[str]) -> None:
    assert {gpu["vendor"] for gpu in ask_json(capsys, "--vendor", "AMD")} == {"amd"}
    assert main(["gpus", "--vendor", "amd", "h100"]) == 2
