import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.plan.service_file import read_question

Change = Callable[[dict[str, Any]], object]


def service(key: str, value: object) -> Change:
    return lambda content: content["services"][0].update({key: value})


def hardware(key: str, value: object) -> Change:
    return lambda content: content["hardware"].update({key: value})


def twice(content: dict[str, Any]) -> None:
    content["services"].append(copy.deepcopy(content["services"][0]))


def test_a_good_file_is_read_whole(write: Callable[..., Path]) -> None:
    question = read_question(write())
    chat = question.services[0]
    assert chat.model.parameters == 8_030_261_248
    assert chat.traffic.planned_rps == 18
    assert {limit.measure.name: limit.seconds for limit in chat.patience} == {"ttft_p95": 1.0, "tpot_p95": 0.05}
    assert [gpu.id for gpu in question.hardware.gpus] == ["h100-sxm"]
    assert question.hardware.prices == {"h100-sxm": 2.95}


def test_the_example_is_a_good_file() -> None:
    question = read_question(Path(__file__).parents[2] / "examples" / "two-services.yaml")
    chat, documents = question.services
    assert round(float((chat.workload.prompt_tokens + chat.workload.output_tokens).mean())) == 1426
    assert round(float((documents.workload.prompt_tokens + documents.workload.output_tokens).mean()), -3) == 13_000


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        (service("trafic", {}), "services[0].trafic", "Did you mean traffic"),
        (service("traffic", {"peak_rps": 0}), "services[0].traffic.peak_rps", "above 0"),
        (service("traffic", {"peak_rps": -3}), "services[0].traffic.peak_rps", "above 0"),
        (service("traffic", {"peak_rps": float("nan")}), "services[0].traffic.peak_rps", "above 0"),
        (service("traffic", {"peak_rps": "many"}), "services[0].traffic.peak_rps", "above 0"),
        (service("traffic", {"peak_rps": True}), "services[0].traffic.peak_rps", "above 0"),
        (service("traffic", {"peak_rps": 5, "margin": 0.5}), "services[0].traffic.margin", "from 1 to 10"),
        (service("traffic", {"margin": 2}), "services[0].traffic", "peak_rps missing"),
        (service("traffic", [1]), "services[0].traffic", "a mapping with keys"),
        (service("patience", {"e2e_p0": "5s"}), "services[0].patience.e2e_p0", "from 1 to 99.9"),
        (service("patience", {"e2e_p100": "5s"}), "services[0].patience.e2e_p100", "ttft_p95"),
        (service("patience", {"latency_p95": "5s"}), "services[0].patience.latency_p95", "ttft, tpot or e2e"),
        (service("patience", {"e2e_p95": "soon"}), "services[0].patience.e2e_p95", "a time such as"),
        (service("patience", {"e2e_p95": 0}), "services[0].patience.e2e_p95", "above 0"),
        (service("patience", {}), "services[0].patience", "ttft, tpot or e2e"),
        (service("workload", {}), "services[0].workload", "either a trace or lengths"),
        (service("workload", {"trace": "none.csv"}), "services[0].workload.trace", "a file that exists"),
        (service("workload", {"lengths": {"prompt": 5}}), "services[0].workload.lengths", "output missing"),
        (
            service("workload", {"lengths": {"prompt": {"p50": 5, "p95": 2}, "output": 5}}),
            "services[0].workload.lengths.prompt",
            "higher percentile",
        ),
        (service("model", "./none.json"), "services[0].model", "none.json"),
        (service("model", 8), "services[0].model", "a short text"),
        (service("name", ""), "services[0].name", "a short text"),
        (service("deployment", {"tp": 3}), "services[0].deployment.tp", "1, 2, 4, 8"),
        (service("deployment", {"kv_dtype": "fp9"}), "services[0].deployment.kv_dtype", "fp8"),
        (service("deployment", {"pp": 2}), "services[0].deployment.pp", "one of engine"),
        (hardware("gpus", ["h10"]), "hardware.gpus[0]", "Did you mean"),
        (hardware("gpus", []), "hardware.gpus", "at least one"),
        (hardware("gpus", "h100-sxm"), "hardware.gpus", "a list"),
        (hardware("max_gpus", 0), "hardware.max_gpus", "from 1"),
        (hardware("max_gpus", 2.5), "hardware.max_gpus", "whole number"),
        (hardware("prices", {"l40s": 1.5}), "hardware.prices.l40s", "one of hardware.gpus"),
        (hardware("prices", {"h100-sxm": 0}), "hardware.prices.h100-sxm", "above 0"),
        (lambda content: content.update(hardwar={}), "hardwar", "Did you mean hardware"),
        (lambda content: content.pop("services"), "the file", "services missing"),
        (
            lambda content: content["services"].append(copy.deepcopy(content["services"][0])),
            "services[0].name",
            "a name of its own",
        ),
    ],
)
def test_a_bad_field_is_one_error_with_its_place(
    write: Callable[..., Path], change: Change, field: str, said: str
) -> None:
    with pytest.raises(BadInput) as caught:
        read_question(write(change))
    assert caught.value.field == field
    assert said in str(caught.value)
    assert "(line " in str(caught.value)


def test_the_line_of_an_unknown_key_is_its_own(write: Callable[..., Path]) -> None:
    path = write()
    text = path.read_text().replace("    peak_rps: 12\n", "    peak_rps: 12\n      margn: 2\n")
    path.write_text(text.replace("      margn", "    margn"))
    line = path.read_text().splitlines().index("    margn: 2") + 1
    with pytest.raises(BadInput, match=rf"Did you mean margin\? \(line {line}\)"):
        read_question(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "something in it"),
        ("services: [", "a YAML file"),
        ("- a\n- b\n", "a mapping with keys services, hardware"),
        ("services: 1\nservices: 2\nhardware: 3\n", "each key once"),
        ("hardware: {gpus: [h100-sxm]}\nservices: !!python/object:os.system {}\n", "a list"),
        ("services: " + "[" * 50 + "]" * 50 + "\nhardware: {gpus: [h100-sxm]}\n", "at most 12 levels"),
        ("services: &a [*a]\nhardware: {gpus: [h100-sxm]}\n", "without anchors"),
        ('services: !!int ""\n', "YAML can read"),
        ("services: !!timestamp x\n", "YAML can read"),
        ("services: " + "[" * 50_000, "at most 12 levels"),
        ("--- a\n--- b\n", "a YAML file"),
        ("services: \x00\n", "a YAML file"),
    ],
)
def test_a_file_that_is_no_service_file_is_one_error(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "service.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        read_question(path)
    assert said in str(caught.value)


def test_repeated_anchors_do_not_blow_up(tmp_path: Path) -> None:
    layers = ["l0: &l0 [x, x]"] + [f"l{i}: &l{i} [" + ", ".join([f"*l{i - 1}"] * 10) + "]" for i in range(1, 11)]
    path = tmp_path / "service.yaml"
    path.write_text("\n".join(layers))
    with pytest.raises(BadInput, match="without anchors"):
        read_question(path)


@given(st.binary(max_size=300))
def test_any_bytes_give_an_error_and_no_traceback(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "service.yaml"
    path.write_bytes(data)
    with pytest.raises(BadInput):
        read_question(path)


def test_a_p99_of_few_requests_is_refused(write: Callable[..., Path], tmp_path: Path) -> None:
    rows = [f"2023-11-16 18:{i // 60:02}:{i % 60:02}.5,100,20" for i in range(500)]
    (tmp_path / "trace.csv").write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "\n".join(rows) + "\n")

    def change(content: dict[str, Any]) -> None:
        content["services"][0].update(workload={"trace": "trace.csv"}, patience={"e2e_p99": "5s"})

    with pytest.raises(BadInput, match=r"a p99 of at least 1000 requests.*has 500"):
        read_question(write(change))
