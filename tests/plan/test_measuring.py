from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bide.plan.measuring import bench_command
from bide.plan.option import Option
from bide.plan.service_file import read_question
from plan_inputs import Write

ROWS = "time,prompt_tokens,output_tokens\n" + "".join(f"{n},{100 + n},50\n" for n in range(201))


def command(path: Path) -> str:
    (path.parent / "trace.csv").write_text(ROWS)
    model = SimpleNamespace(deployment=SimpleNamespace(model=SimpleNamespace(name="llama")))
    option = SimpleNamespace(reading=SimpleNamespace(requests_per_s=7.5), candidate=model, pools=None)
    return bench_command(read_question(path), 0, cast(Option, option))


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        ({"trace": "trace.csv"}, "--workload trace.csv"),
        ({"lengths": {"prompt": 800, "output": 50}}, "--prompt 800 --answer 50"),
        # Prompts of 100 to 300 tokens, evenly: p50 200, p95 290; times 2 they have a mean of 400.
        (
            {"trace": "trace.csv", "scaled_to": {"prompt": 400, "output": 50}},
            "--prompt p50=400,p95=580 --answer 50",
        ),
    ],
)
def test_the_server_is_loaded_with_requests_as_planned(write: Write, workload: dict[str, Any], said: str) -> None:
    path = write(lambda content: content["services"][0].update(workload=workload))
    said = said.replace("trace.csv", str(path.parent / "trace.csv"))
    assert command(path) == f"bide bench http://localhost:8000 --model llama --rate 7.5 {said}"


def test_the_trace_is_told_from_where_the_plan_was_asked_for(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(lambda content: content["services"][0].update(workload={"trace": "trace.csv"}))
    monkeypatch.chdir(path.parent)
    assert command(Path("service.yaml")).endswith("--workload trace.csv")
    monkeypatch.chdir(path.parent.parent)
    assert command(Path(path.parent.name, "service.yaml")).endswith(f"--workload {path.parent.name}/trace.csv")


@pytest.mark.parametrize(("given", "called"), [("./llama.json", "./llama.json"), ("llama.json", "./llama.json")])
def test_a_model_of_a_file_is_called_as_it_was_given(write: Write, given: str, called: str) -> None:
    path = write(lambda content: content["services"][0].update(model=given))
    assert read_question(path).services[0].model.name == called
