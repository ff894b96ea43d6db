"""`bide bench` as its users call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from bench_scene import QUICK, quick, served
from bide.cli.main import main

SMALL = ("--prompt", "40", "--answer", "6", "--no-journal")


def test_json_has_the_figures_and_nothing_else_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with served(quick(itl_s=0.005)) as scene:
        asked = ["bench", scene.url, "--concurrency", "3", "--requests", "30", "--goodput", "ttft=5s", "--json", *SMALL]
        assert main(asked) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "bide.bench/1"
    cell = answer["cells"][0]
    assert sum(cell["status"].values()) == cell["requests"] <= 30
    assert list(cell["latency"])[:1] == ["ttft"]
    assert cell["goodput"]["share"] == 1.0
    assert cell["client"]["processes"] == 1
    assert cell["server"]["engine"] == "vllm"
    assert answer["settings"]["server"]["block_size"] == "16"
    assert cell["tokens"]["prompts_of_other_length"] == 0


def test_text_says_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as scene:
        assert main(["bench", scene.url, "--rate", "40", "--requests", "20", *SMALL]) == 0
    text = capsys.readouterr().out
    assert "40 requests/s: TTFT p95" in text
    assert "TPOT: (last - first)" in text
    assert "too few" in text


def test_a_sweep_and_all_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        suffix: tmp_path / f"out{suffix}" for suffix in (".csv", ".jsonl", ".parquet", ".html", ".md", ".json", ".png")
    }
    flags = [flag for path in files.values() for flag in ("-o", str(path))]
    theirs, journal = tmp_path / "vllm.json", tmp_path / "journal.jsonl"
    with served() as scene:
        asked = [
            "bench",
            scene.url,
            "--sweep",
            "concurrency=1..4",
            "--requests",
            "8",
            "--prompt",
            "40",
            "--answer",
            "6",
        ]
        assert main([*asked, "--journal", str(journal), "--vllm-json", str(theirs), *flags]) == 0
        said = capsys.readouterr()
        assert "<- knee" in said.out
        assert said.err.splitlines()[-1] == f"wrote {journal}"
        assert main(["bench", "--resume", str(journal)]) == 0  # nothing is missing: nothing is sent
        assert scene.truth.count == 24 + 2  # two requests of the probe
    assert [len(pl.read_parquet(files[".parquet"])), len(pl.read_csv(files[".csv"]))] == [24, 24]
    assert len(theirs.read_text().splitlines()) == 3
    assert "<svg" in files[".html"].read_text()
    assert "| metric |" in files[".md"].read_text()
    assert len(json.loads(files[".json"].read_text())["cells"]) == 3


def test_an_objective_that_cannot_be_met_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    with served(QUICK) as scene:
        asked = ["bench", scene.url, "--concurrency", "1", "--requests", "3", "--slo", "ttft_p50=1ms", *SMALL]
        assert main(asked) == 1
    assert "No load that was tried meets ttft_p50=1ms" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "field"),
    [
        ((), "rate"),
        (("--rate", "1", "--concurrency", "1"), "concurrency"),
        (("--sweep", "users=1,2"), "sweep"),
        (("--sweep", "concurrency=0..2"), "sweep"),
        (("--rate", "1", "--arrivals", "gamma"), "burstiness"),
        (("--rate", "1", "--goodput", "itl=1s"), "goodput"),
        (("--rate", "1", "--processes", "many"), "processes"),
        (("--rate", "1", "--header", "nonsense"), "header"),
        (("--rate", "1", "--extra", "[]"), "extra"),
        (("--rate", "1", "--prompt", "p50=x"), "prompt"),
        (("--rate", "1", "--no-probe"), "model"),
        (("--rate", "1", "--ramp", "1", "--requests", "5"), "ramp"),
        (("--rate", "1", "--scale", "2"), "scale"),
        (("--concurrency", "1", "--workload", "x.csv", "--follow-sessions"), "follow_sessions"),
        (("--rate", "1", "--think", "1s"), "think"),
        (("--rate", "1", "--spread", "1s"), "spread"),
        (("--concurrency", "1", "--burstiness", "0.5"), "burstiness"),
        (("--rate", "1", "--arrivals", "constant", "--burstiness", "0.5"), "burstiness"),
        (("--workload", "x.csv", "--ramp", "1"), "ramp"),
        (("--workload", "x.csv", "--arrivals", "constant"), "arrivals"),
        (("--sweep", "rate=1,2", "--slo", "ttft_p50=1s"), "slo"),
        (("--workload", "x.csv", "--scale", "2", "--slo", "ttft_p50=1s"), "slo"),
        (("--resume", "x.jsonl", "--rate", "2"), "rate"),
    ],
)
def test_bad_input_names_its_field(flags: tuple[str, ...], field: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "http://127.0.0.1:9", "--no-journal", *flags]) == 2
    assert capsys.readouterr().err.startswith(f"error: {field}")


def test_a_journal_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "run.jsonl"
    journal.write_text("mine")
    with served() as scene:
        assert main(["bench", scene.url, "--rate", "1", "--requests", "1", "--journal", str(journal)]) == 2
    assert journal.read_text() == "mine"
    assert main(["bench", "--resume", str(journal)]) == 2
    assert "a journal of `bide bench`" in capsys.readouterr().err


def test_the_selftest_says_what_can_be_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bide.bench import selftest

    for name, value in {"_STREAMS": (4,), "_FEWEST": 8, "_SECONDS": 0.5, "_TOKENS": 8, "_INSTANT_RATE": 200.0}.items():
        monkeypatch.setattr(selftest, name, value)
    assert main(["bench", "--selftest"]) == 0
    text = capsys.readouterr().out
    assert "This machine measures" in text
    assert "4 streams" in text
    assert "200 requests/s, instant" in text
    assert main(["bench", "--selftest", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "bide.bench-selftest/1"
    assert [line["name"] for line in answer["lines"]] == ["closed", "open", "instant"]


def test_a_run_that_was_cut_short_says_how_to_complete_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bide.bench import measure
    from bide.bench.cell import play_cell

    played = play_cell

    async def cut(*args: Any) -> Any:
        made = await played(*args)
        made.interrupted = True
        return made

    monkeypatch.setattr(measure, "play_cell", cut)
    journal = tmp_path / "run.jsonl"
    with served() as scene:
        asked = ["bench", scene.url, "--concurrency", "1", "--requests", "2", "--prompt", "40", "--answer", "6"]
        assert main([*asked, "--journal", str(journal)]) == 130
    said = capsys.readouterr()
    assert "Cut short." in said.out
    assert said.err.splitlines()[-1] == f"to complete it: bide bench --resume {journal}"


def test_an_interrupt_before_the_first_request_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from bide.bench import session
    from bide.bench.measure import Measured

    monkeypatch.setattr(session, "measure", lambda *_args: Measured(interrupted=True))
    with served() as scene:
        assert main(["bench", scene.url, "--concurrency", "1", *SMALL]) == 130
    said = capsys.readouterr()
    assert (said.out, said.err.strip()) == ("", "error: interrupted")


def test_every_key_of_the_json_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    documented = (Path(__file__).parents[2] / "docs" / "bench.md").read_text(encoding="utf-8").partition("## JSON")[2]
    with served(quick(reasoning_tokens=2, tokens_per_chunk=2)) as scene:
        flags = ["--concurrency", "2", "--requests", "12", "--goodput", "ttft=5s", "--slo", "ttft_p50=1ms", "--json"]
        assert main(["bench", scene.url, *flags, *SMALL]) == 1
    answer = json.loads(capsys.readouterr().out)
    cell = answer["cells"][0]
    parts = [answer, answer["found"]["slo"], cell, *(cell[name] for name in ("load", "window", "rates", "in_flight"))]
    parts += [cell["client"], cell["connections"], cell["server"], cell["goodput"], cell["latency"]]
    missing = {key for part in parts for key in part if f"`{key}`" not in documented.replace("[]", "")}
    assert missing == {"schema"}


def test_a_key_is_in_no_file_and_on_no_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / f"out{suffix}" for suffix in (".html", ".md", ".json", ".svg", ".csv", ".jsonl")]
    flags = [flag for path in files for flag in ("-o", str(path))]
    more = ["--journal", str(tmp_path / "journal.jsonl"), "--vllm-json", str(tmp_path / "vllm.json"), *flags]
    load = ["--concurrency", "2", "--requests", "4", "--prompt", "40", "--answer", "4"]
    with served(quick(key="sk-right-secret")) as scene:
        right = ["--header", "Authorization: Bearer sk-right-secret"]
        assert main(["bench", scene.url, *load, *right, *more]) == 0
        wrong = ["--header", "Authorization: Bearer sk-wrong-secret", "--no-journal"]
        assert main(["bench", scene.url, *load, *wrong]) == 2  # the probe says what the server answered
        assert main(["bench", scene.url, *load, *wrong, "--no-probe", "--model", "m", "--json"]) == 1
    said = capsys.readouterr()
    assert "HTTP 401" in said.err
    texts = [said.out, said.err, *(path.read_text() for path in tmp_path.iterdir())]
    assert len(texts) == 2 + len(files) + 2
    assert not any("secret" in text for text in texts)
