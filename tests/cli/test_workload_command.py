"""`bide workload` as its users call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bide.cli.main import main

ROOT = Path(__file__).parents[2]
AZURE = str(ROOT / "examples" / "traces" / "azure-conv-2023-peak15min.csv")
MOONCAKE = str(ROOT / "tests" / "workload" / "data" / "mooncake-conversation-head.jsonl.gz")


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(("workload", *args))
    out, err = capsys.readouterr()
    return code, out, err


def answer(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    code, out, _err = run(capsys, *args, "--json")
    assert code == 0
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_group_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys)
    assert code == 0
    for name in ("describe", "sample", "convert"):
        assert f"  {name} " in out


@pytest.mark.parametrize("args", ["workload", "workload describe --help", "workload sample --help"])
def test_help_imports_nothing_heavy(args: str) -> None:
    code = "import sys; from bide.cli.main import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *args.split()], capture_output=True, text=True, check=True)
    assert not {"numpy", "polars", "numba", "scipy", "altair", "jinja2"} & set(done.stdout.split())


def test_describe_answers_in_the_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    # the figures of examples/traces/README.md
    code, out, _err = run(capsys, "describe", AZURE)
    assert code == 0
    assert out.splitlines()[0] == (
        "6,541 requests in 15 min, 7.27 a second: prompts of 454 tokens and answers of 96 in the median."
    )
    assert "4,133" in out
    assert "7,650" in out


def test_describe_json_has_the_keys_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "describe", MOONCAKE)
    assert found["schema"] == "bide.workload.describe/1"
    assert set(found) == {
        "schema",
        "reading",
        "requests",
        "answered",
        "prompt_tokens",
        "output_tokens",
        "total_tokens",
        "spearman",
        "arrivals",
        "resident",
        "prefix_reuse",
        "sessions",
        "cached_share",
        "assumptions",
        "models",
    }
    assert found["requests"] == found["reading"]["kept"] == 250
    assert {finding["kind"] for finding in found["reading"]["findings"]} >= {"tick", "time_unit", "block_tokens"}
    assert [window["window_s"] for window in found["arrivals"]["windows"]] == [1.0, 10.0]
    assert found["prefix_reuse"]["hit_share_unlimited"] == pytest.approx(227_328 / 3_534_037)
    assert set(found["models"]["lengths"]["prompt"]) == {"quantiles", "lognormal", "mixture"}


def test_few_rows_give_a_range_and_no_p99(capsys: pytest.CaptureFixture[str]) -> None:
    _code, out, _err = run(capsys, "describe", MOONCAKE)
    assert "?" in out
    assert "Fewer than 1,000 answered requests" in out


@pytest.mark.parametrize("suffix", ["html", "md", "json", "csv", "svg", "png"])
def test_describe_writes_every_report(capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"report.{suffix}"
    code, _out, err = run(capsys, "describe", MOONCAKE, "-o", str(path))
    assert code == 0
    assert f"wrote {path}" in err
    content = path.read_bytes()
    if suffix == "png":
        assert content.startswith(b"\x89PNG")
    else:
        text = content.decode()
        assert "250 requests" in text or suffix in ("json", "csv", "svg")
        assert "var(--" not in text or suffix == "html"
    if suffix == "html":
        assert text.count("<figure>") == 3
        assert "http" not in text.replace("http://www.w3.org", "")
    if suffix == "csv":
        header, first, *_rest, last = text.splitlines()
        assert header == "share,prompt_tokens,output_tokens,total_tokens"
        assert (first.split(",")[0], last.split(",")[0]) == ("0", "1")


def test_sample_draws_the_same_bytes_for_a_seed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("one.csv", "two.csv"):
        found = answer(capsys, "sample", AZURE, "--requests", "500", "--seed", "7", "-o", str(tmp_path / name))
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert found["schema"] == "bide.workload.sample/1"
    assert found["written"]["requests"] == found["drawn"]["requests"] == 500
    assert found["recorded"]["requests"] == 6541


def test_sample_shows_the_recorded_beside_the_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out_file = str(tmp_path / "t.jsonl")
    code, out, _err = run(
        capsys, "sample", MOONCAKE, "--duration", "5min", "--rps", "4", "--to", "mooncake", "-o", out_file
    )
    assert code == 0
    assert "recorded" in out
    assert "prefix reuse, unlimited" in out
    lines = Path(out_file).read_text().splitlines()
    assert json.loads(lines[-1])["timestamp"] < 300_000
    assert set(json.loads(lines[0])) == {"timestamp", "input_length", "output_length", "hash_ids"}


def test_sample_from_figures_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    figures = ("--prompt", "p50=900,p95=3800", "--answer", "mean=210", "--rps", "12", "--system-prompt", "480:0.5")
    found = answer(capsys, "sample", *figures, "-o", str(tmp_path / "t.parquet"))
    assert found["recorded"] is None
    assert found["written"]["requests"] == 10_000
    assert found["drawn"]["prompt_tokens"]["p50"] == pytest.approx(900, rel=0.05)
    assert found["drawn"]["prefix_reuse"]["hit_share_unlimited"] > 0.1
    assert "log-spread of answer" in {assumed["name"] for assumed in found["drawn"]["assumptions"]}


def test_sample_from_a_workload_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("lengths: {prompt: 100, output: 10}\narrivals: {kind: constant, rps: 2}\n")
    found = answer(capsys, "sample", str(tmp_path / "w.yaml"), "--requests", "50", "-o", str(tmp_path / "t.csv"))
    assert found["drawn"]["arrivals"]["gap_cv"] == pytest.approx(0, abs=1e-9)
    code, _out, err = run(capsys, "sample", str(tmp_path / "w.yaml"), "--rps", "3", "-o", str(tmp_path / "t.csv"))
    assert code == 2
    assert "it says all" in err


def test_convert_says_what_is_lost(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "t.csv")
    found = answer(capsys, "convert", MOONCAKE, "--to", "azure", "-o", path)
    assert found["schema"] == "bide.workload.convert/1"
    assert found["written"] == {"file": path, "format": "azure", "requests": 250, "lost": ["blocks"]}
    code, out, _err = run(capsys, "convert", MOONCAKE, "--to", "azure", "-o", path)
    assert code == 0
    assert "has no place for: blocks" in out
    assert Path(path).read_text().splitlines()[1].startswith("2000-01-01 00:00:00.0000000,")


FIGURES = ("--prompt", "p50=900,p95=3800", "--answer", "200")
MODELS = {
    "poisson": ("--rps", "8"),
    "gamma": ("--rps", "8", "--burstiness", "0.25"),
    "constant": ("--rps", "8", "--arrivals", "constant"),
    "steps": ("--rates", "4,12", "--window", "30s"),
    "wandering": ("--rps", "8", "--variation", "0.5", "--persistence", "0.5"),
    "diurnal": ("--rps", "8", "--peak-to-mean", "2"),
    "closed": ("--users", "40", "--think", "p50=4s,p95=20s", "--first-token", "200ms", "--per-token", "5ms"),
    "sessions": ("--turns", "4", "--added", "50", "--think", "5s", "--rps", "8", "--system-prompt", "640:0.5"),
    "correlated": ("--rps", "8", "--correlation", "0.4"),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_reachable_by_flags_and_its_bytes_by_the_seed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    written = []
    for seed in ("7", "7", "8"):
        path = tmp_path / "x.jsonl"
        args = ("sample", *FIGURES, *MODELS[name], "--requests", "2000", "--seed", seed, "-o", str(path), "--json")
        code, out, _err = run(capsys, *args)
        assert code == 0
        written.append(path.read_bytes())
    assert written[0] == written[1] != written[2]
    drawn = json.loads(out)["drawn"]
    assert drawn["requests"] == 2000
    if name not in ("closed", "diurnal"):
        assert drawn["arrivals"]["mean_rps"] == pytest.approx(8, rel=0.15)
    if name == "sessions":
        # every prompt holds the one before: far more is found than the half that a system prompt of 640 would give
        assert drawn["prefix_reuse"]["hit_share_unlimited"] > 0.6
        assert drawn["sessions"]["mean_turns"] == pytest.approx(4, rel=0.1)
    if name == "correlated":
        assert json.loads(out)["drawn"]["output_tokens"]["p50"] == 200


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("describ",), "Did you mean describe?"),
        (("describe",), "SOURCES"),
        (("describe", "nowhere.csv"), "source: got 'nowhere.csv'"),
        (("describe", AZURE, "--field", "prompt"), "ROLE=NAME"),
        (("describe", AZURE, "-o", "x.txt"), "a file ending in"),
        (("sample", AZURE), "'-o'"),
        (("sample", "-o", "x.csv"), "--prompt and --answer"),
        (("sample", AZURE, "-o", "x.csv", "--rps", "-1"), "rps: got -1.0"),
        (("sample", AZURE, "-o", "x.csv", "--requests", "5", "--duration", "5s"), "either --requests or --duration"),
        (("sample", AZURE, "-o", "x.csv", "--system-prompt", "100:half"), "TOKENS:SHARE"),
        (("convert", AZURE, "-o", "x.csv", "--to", "azur"), "Did you mean azure"),
        (("describe", AZURE, "--time-unit", "h"), "one of s, ms, us, ns"),
        (("describe", ""), "a file that exists"),
        (("describe", "."), "a folder of traces"),
        (("sample", AZURE, "-o", "x.csv", "--duration", "1e30"), "a year at most"),
        (("sample", AZURE, "-o", "x.csv", "--window", "0s"), "window: got 0.0"),
        (("sample", AZURE, "-o", "x.csv", "--prompt", "p0=5,p50=7"), "prompt.p0"),
        (("sample", AZURE, "-o", "x.csv", "--burstiness", "0.5", "--arrivals", "poisson"), "of the kind gamma"),
        (("sample", AZURE, "-o", "x.csv", "--users", "5", "--rps", "2"), "what the server makes"),
        (("sample", AZURE, "-o", "x.csv", "--rates", "2,x"), "such as 2,8,5"),
        (("sample", AZURE, "-o", "x.csv", "--turns", "5"), "from figures alone"),
        (("sample", *FIGURES, "-o", "x.csv", "--added", "5"), "nothing without --turns"),
        (("sample", *FIGURES, "-o", "x.csv", "--correlation", "2"), "correlation: got 2.0"),
        (("sample", *FIGURES, "-o", "x.csv"), "rps: missing"),
        (("sample", AZURE, "-o", "x.csv", "--rps", "0"), "a number above 0, at most 1,000,000,000"),
        (("sample", AZURE, "-o", "x.csv", "--rps", "1,5"), "With a decimal point: 1.5"),
        (("describe", AZURE, "--tokenizer", "nowhere"), "tokenizer: got 'nowhere'"),
    ],
    ids=lambda value: " ".join(value)[-30:] if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *args)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "x.csv").exists()
