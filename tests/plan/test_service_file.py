import copy
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.plan.service_file import read_question
from plan_inputs import FILE, LLAMA

Change = Callable[[dict[str, Any]], object]


def service(key: str, value: object) -> Change:
    return lambda content: content["services"][0].update({key: value})


def hardware(key: str, value: object) -> Change:
    return lambda content: content["hardware"].update({key: value})


def traffic(**values: object) -> Change:
    return lambda content: content["services"][0]["traffic"].update(values)


def goodput(**values: object) -> Change:
    return service("patience", {"goodput": values})


def fleet(key: str, value: object) -> Change:
    return lambda content: content.update(fleet={key: value})


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
        (service("traffic", {"peak_rps": "12"}), "services[0].traffic.peak_rps", "without quotes"),
        (service("traffic", {"peak_rps": True}), "services[0].traffic.peak_rps", "above 0"),
        (service("traffic", {"peak_rps": 5, "margin": 0.5}), "services[0].traffic.margin", "from 1 to 10"),
        (service("traffic", {"margin": 2}), "services[0].traffic", "peak_rps missing"),
        (service("traffic", [1]), "services[0].traffic", "a mapping with keys"),
        (service("patience", {"e2e_p0": "5s"}), "services[0].patience.e2e_p0", "from 1 to 99.9"),
        (service("patience", {"e2e_p100": "5s"}), "services[0].patience.e2e_p100", "ttft_p95"),
        (service("patience", {"latency_p95": "5s"}), "services[0].patience.latency_p95", "ttft, tpot, itl or e2e"),
        (
            service("patience", {"e2e_p95": 1, "5s": None}),
            "services[0].patience.5s",
            "write 1.5s, not 1,5s",
        ),  # {e2e_p95: 1,5s}
        (service("patience", {"e2e_95": "5s"}), "services[0].patience.e2e_95", "Did you mean e2e_p95"),
        (
            service("patience", {"e2e_p95": "5s", "e2e_p95.0": "6s"}),
            "services[0].patience.e2e_p95",
            "each measure once",
        ),
        (service("patience", {"e2e_p50": "9s", "e2e_p95": "5s"}), "services[0].patience.e2e_p50", "at most the limit"),
        (service("patience", {"ttft_p95": "9s", "e2e_p95": "5s"}), "services[0].patience.ttft_p95", "never longer"),
        (service("patience", {"goodput": {"ttft": "1s"}}), "services[0].patience.goodput", "share missing"),
        (service("patience", {"goodput": {"share": "95%"}}), "services[0].patience.goodput", "at least one of"),
        (goodput(share=95, ttft="1s"), "services[0].patience.goodput.share", "such as 95% or 0.95"),
        (goodput(share="0%", ttft="1s"), "services[0].patience.goodput.share", "from 1% to 99.9%"),
        (goodput(share="most", ttft="1s"), "services[0].patience.goodput.share", "from 1% to 99.9%"),
        (goodput(share="95%", ttf="1s"), "services[0].patience.goodput.ttf", "Did you mean ttft"),
        (goodput(share="95%", ttft="6s", e2e="5s"), "services[0].patience.goodput.ttft", "at most the limit on e2e"),
        (service("patience", {"e2e_p95": "soon"}), "services[0].patience.e2e_p95", "a time such as"),
        (service("patience", {"e2e_p95": 0}), "services[0].patience.e2e_p95", "above 0"),
        (service("patience", {"e2e_p95": ["5s"]}), "services[0].patience.e2e_p95", "got ['5s']; allowed: a time"),
        (service("patience", {}), "services[0].patience", "ttft, tpot, itl or e2e"),
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
        (service("model", "./llama-3.1-8b"), "services[0].model", "There is no such file"),
        (service("model", "x" * 300), "services[0].model", "a catalogue name"),
        (service("name", ""), "services[0].name", "a short text"),
        (service("deployment", {"tp": 3}), "services[0].deployment.tp", "1, 2, 4, 8"),
        (service("deployment", {"kv_dtype": "fp9"}), "services[0].deployment.kv_dtype", "fp8"),
        (service("deployment", {"router": 2}), "services[0].deployment.router", "one of engine"),
        (service("deployment", {"tp": [1, 3]}), "services[0].deployment.tp[1]", "1, 2, 4, 8"),
        (
            service("deployment", {"max_model_len": 131073}),
            "services[0].deployment.max_model_len",
            "at most the model's",
        ),
        (service("deployment", {"max_model_len": ["8k", "1e6"]}), "services[0].deployment.max_model_len[1]", "131,072"),
        (service("deployment", {"tp": []}), "services[0].deployment.tp", "at least one"),
        (service("deployment", {"tp": [2, 2]}), "services[0].deployment.tp", "each value once"),
        (service("deployment", {"tp": [[2]]}), "services[0].deployment.tp[0]", "a whole number"),
        (service("deployment", {"engine": ["vllm", "sglang"]}), "services[0].deployment.engine", "not a list"),
        (service("deployment", {"kv_dtype": ["fp8", "fp9"]}), "services[0].deployment.kv_dtype[1]", "fp8"),
        (service("deployment", {"max_num_seqs": list(range(1, 600))}), "services[0].deployment", "512 combinations"),
        (service("disaggregated", "perhaps"), "services[0].disaggregated", "true, false or [false, true]"),
        (service("disaggregated", [True, 1]), "services[0].disaggregated[1]", "true or false"),
        (service("disaggregated", [True, True]), "services[0].disaggregated", "each value once"),
        (service("api_price", {"input": 1}), "services[0].api_price", "output missing"),
        (service("api_price", {"input": 0, "output": 0}), "services[0].api_price", "not both 0"),
        (service("api_price", {"input": -1, "output": 2}), "services[0].api_price.input", "from 0"),
        (traffic(growth=0.2), "services[0].traffic.growth", "20%"),
        (traffic(growth="lots"), "services[0].traffic.growth", "20%"),
        (traffic(growth="-100%"), "services[0].traffic.growth", "-90%"),
        (traffic(window="60s"), "services[0].traffic.window", "only with peak_rps: trace"),
        (traffic(peak_rps="trace"), "services[0].traffic.peak_rps", "trace needs a workload.trace"),
        (traffic(peak_rps="observed"), "services[0].traffic.peak_rps", "bide workload observe"),
        (traffic(peak_rps="12 rps"), "services[0].traffic.peak_rps", "above 0"),
        (traffic(hours=[1, 2]), "services[0].traffic.hours", "these are 2"),
        (traffic(hours=[0] * 24), "services[0].traffic.hours", "not all of them 0"),
        (traffic(hours=[1] * 23 + [-1]), "services[0].traffic.hours[23]", "0 or more"),
        (traffic(hours="ofice"), "services[0].traffic.hours", "Did you mean office"),
        (traffic(hours={}), "services[0].traffic.hours", "24 numbers"),
        (traffic(hours="trace"), "services[0].traffic.hours", "of a day or more"),
        (traffic(users=0), "services[0].traffic.users", "from 1"),
        (hardware("price_multiplier", 0), "hardware.price_multiplier", "from 0.01"),
        (hardware("price_note", 3), "hardware.price_note", "a short text"),
        (hardware("prices", {"h100-sxm": 2, "H100 SXM": 3}), "hardware.prices.H100 SXM", "each GPU once"),
        (fleet("router", "round"), "fleet.router", "one of round-robin"),
        (fleet("spares", 1), "fleet.spares", "one of router"),
        (fleet("spare_replicas", -1), "fleet.spare_replicas", "from 0"),
        (fleet("rolling_replicas", 0.5), "fleet.rolling_replicas", "a whole number"),
        (fleet("scale_up", "2d"), "fleet.scale_up", "up to a day"),
        (fleet("share", "never"), "fleet.share", "true or false"),
        (hardware("gpus", ["h10"]), "hardware.gpus[0]", "Did you mean"),
        (hardware("gpus", []), "hardware.gpus", "at least one"),
        (hardware("gpus", "h100-sxm"), "hardware.gpus", "is written [h100-sxm]"),
        (hardware("gpus", [5]), "hardware.gpus[0]", "a GPU of the catalogue"),
        (hardware("max_gpus", 0), "hardware.max_gpus", "from 1"),
        (hardware("max_gpus", 2.5), "hardware.max_gpus", "whole number"),
        (hardware("prices", {"l40s": 1.5}), "hardware.prices.l40s", "one of hardware.gpus"),
        (hardware("prices", {"h100-sxm": 0}), "hardware.prices.h100-sxm", "above 0"),
        (lambda content: content.update(hardwar={}), "hardwar", "Did you mean hardware"),
        (lambda content: content.pop("services"), "the file", "services missing"),
        (
            lambda content: content["services"].append(copy.deepcopy(content["services"][0])),
            "services[1].name",
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
        ("services: \x00\n", "(line 1)"),
        ("services:\n\t- name: chat\n", "(line 2); indent with spaces"),
        ("services:\n  - {trace: *.csv}\n", "(line 2); text that begins with * or & is put in quotes"),
        ("services:\n  - name: chat: big\n", "(line 2); text with a colon and a space in it is put in quotes"),
    ],
)
def test_a_file_that_is_no_service_file_is_one_error(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "service.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        read_question(path)
    assert said in str(caught.value)


def test_a_file_in_another_encoding_says_which_is_read(tmp_path: Path) -> None:
    path = tmp_path / "service.yaml"
    path.write_bytes("services:\n  - name: café\n".encode("latin-1"))
    with pytest.raises(BadInput, match=r"\(line 2\); save it as UTF-8"):
        read_question(path)


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("peak_rps", "1e3", 1000.0),  # YAML 1.1, which PyYAML reads, takes it for a word
        ("peak_rps", "2.5E+1", 25.0),
        ("growth", "-90%", 0.1),  # 1 - 0.9 is a little less than 0.1
        ("growth", "900%", 10.0),
    ],
)
def test_numbers_are_read_as_people_write_them(write: Callable[..., Path], key: str, text: str, found: float) -> None:
    path = write(traffic(growth=1))
    lines = path.read_text().splitlines()
    changed = [f"{line.partition(':')[0]}: {text}" if f" {key}:" in line else line for line in lines]
    path.write_text("\n".join(changed))
    assert getattr(read_question(path).services[0].traffic, key) == pytest.approx(found)


def test_the_largest_share_and_a_gpu_named_by_a_number(write: Callable[..., Path]) -> None:
    question = read_question(write(goodput(share="99.9%", ttft="1s")))  # 99.9 / 100 is a little more than 0.999
    assert question.services[0].goodput is not None
    assert question.services[0].goodput.share == 0.999
    (gpu,) = read_question(write(lambda content: content.update(hardware={"gpus": [5090]}))).hardware.gpus
    assert "5090" in gpu.id


def test_a_path_may_be_longer_than_a_name(write: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["a-folder-with-a-long-name"] * 10)
    folder.mkdir(parents=True)
    (folder / "llama.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    long = f"./{folder.relative_to(tmp_path)}/llama.json"
    assert len(long) > 200
    assert read_question(write(service("model", long))).services[0].model.name == long


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


NASTY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["trace", "observed", "5%", "1s", "1e999s", ".", "/dev/zero", "2024-01-01", "llama.json", "fp8"]),
    st.lists(st.sampled_from([None, 1, "auto", "h100-sxm"]), max_size=3),
    st.dictionaries(st.sampled_from(["a", "p50", "share", "trace"]), st.just(1), max_size=2),
)
EVERY_KEY: dict[str, Any] = {
    "traffic": {"peak_rps": 12, "margin": 1.5, "growth": "20%", "hours": [1.0] * 24, "users": 100},
    "patience": {"ttft_p95": "1s", "itl_p99": "1s", "goodput": {"share": "95%", "ttft": "1s"}},
    "deployment": {"tp": [1, 2], "kv_dtype": "fp8", "weights": ["auto", "fp8"]},
    "api_price": {"input": 1, "output": 2},
    "disaggregated": False,
}


def places(content: Any) -> list[tuple[Any, Any]]:
    """Every container in `content` with each of its keys."""
    keys = list(content) if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    return [place for key in keys for place in ((content, key), *places(content[key]))]


@given(st.integers(0, 10**6), NASTY)
def test_any_value_anywhere_gives_a_question_or_one_error(
    tmp_path_factory: pytest.TempPathFactory, where: int, value: object
) -> None:
    content: dict[str, Any] = copy.deepcopy(FILE)
    content["services"][0].update(copy.deepcopy(EVERY_KEY))
    content["fleet"] = {"router": "prefix", "spare_replicas": 1, "scale_up": "1min", "share": True}
    found = places(content)
    container, key = found[where % len(found)]
    container[key] = value
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "llama.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    path = folder / "service.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with suppress(BadInput):
        read_question(path)
