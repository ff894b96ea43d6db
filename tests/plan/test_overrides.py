"""Flags that stand in for values of the file."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bide.errors import BadInput
from bide.plan.asked.overrides import Overrides
from bide.plan.service_file import read_question

Write = Callable[..., Path]


def two(content: dict[str, Any]) -> None:
    content["services"].append(copy.deepcopy(content["services"][0]) | {"name": "mail", "traffic": {"peak_rps": 3}})


def test_flags_take_the_place_of_the_files_values(write: Write) -> None:
    given = Overrides(("l40s",), 8, ("20",), ("2",), ("e2e_p95=8s",))
    question = read_question(write(), given)
    (service,) = question.services
    assert [gpu.id for gpu in question.hardware.gpus] == ["l40s"]
    assert question.hardware.prices == {}  # that of the H100 is not needed any more
    assert (question.hardware.max_gpus, service.traffic.planned_rps) == (8, 40)
    assert [(limit.measure.name, limit.seconds) for limit in service.patience] == [("e2e_p95", 8.0)]
    assert question.flags == ("--gpu l40s", "--max-gpus 8", "--peak-rps 20", "--margin 2", "--patience e2e_p95=8s")


def test_a_price_of_a_gpu_that_stays_is_kept(write: Write) -> None:
    question = read_question(write(), Overrides(gpus=("l40s", "H100 SXM")))
    assert question.hardware.prices == {"h100-sxm": 2.95}


def test_a_service_is_named_where_there_are_several(write: Write) -> None:
    question = read_question(write(two), Overrides(peak_rps=("mail=9",), margin=("2", "chat=1")))
    assert [service.traffic.peak_rps for service in question.services] == [12, 9]
    assert [service.traffic.margin for service in question.services] == [1, 2]


def test_a_given_peak_needs_no_window(write: Write, tmp_path: Path) -> None:
    rows = "".join(f"{second},100,20\n" for second in range(200))
    (tmp_path / "trace.csv").write_text("timestamp,input_length,output_length\n" + rows, encoding="utf-8")

    def change(content: dict[str, Any]) -> None:
        content["services"][0] |= {
            "workload": {"trace": "trace.csv"},
            "traffic": {"peak_rps": "trace", "window": "10s"},
        }

    path = write(change)
    assert read_question(path).services[0].traffic.peak_rps == 1
    assert read_question(path, Overrides(peak_rps=("5",))).services[0].traffic.peak_rps == 5


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        (Overrides(gpus=("h10",)), "--gpu", "Did you mean"),
        (Overrides(max_gpus=0), "--max-gpus", "from 1"),
        (Overrides(peak_rps=("0",)), "--peak-rps", "above 0"),
        (Overrides(peak_rps=("nan",)), "--peak-rps", "above 0"),
        (Overrides(peak_rps=("many",)), "--peak-rps", "above 0"),
        (Overrides(peak_rps=("chatt=3",)), "--peak-rps", "Did you mean chat"),
        (Overrides(peak_rps=("trace",)), "--peak-rps", "workload.trace"),
        (Overrides(margin=("0.5",)), "--margin", "from 1 to 10"),
        (Overrides(patience=("5s",)), "--patience", "MEASURE=TIME"),
        (Overrides(patience=("e2e_p95=5s", "e2e_p95=6s")), "--patience", "each measure once"),
        (Overrides(patience=("e2e_95=5s",)), "--patience", "Did you mean e2e_p95"),
        (Overrides(patience=("e2e_p95=soon",)), "--patience", "a time such as"),
    ],
)
def test_a_bad_flag_is_one_error_that_names_it(write: Write, given: Overrides, field: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_question(write(), given)
    assert caught.value.field == field
    assert said in str(caught.value)
    assert "(line" not in str(caught.value)


def test_a_peak_without_a_name_is_refused_where_there_are_several(write: Write) -> None:
    with pytest.raises(BadInput, match="NAME=RPS"):
        read_question(write(two), Overrides(peak_rps=("9",)))


@pytest.mark.parametrize("text", ["services: 3\nhardware: 4\n", "- a\n", "services: [1]\nhardware: {gpus: [l40s]}\n"])
def test_a_file_that_is_none_is_said_as_without_flags(tmp_path: Path, text: str) -> None:
    path = tmp_path / "service.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"a mapping|a list"):
        read_question(path, Overrides(max_gpus=3, peak_rps=("3",), patience=("e2e_p95=1s",)))
