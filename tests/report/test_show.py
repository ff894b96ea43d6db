"""Any answer as a chart or a page, from Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import altair as alt
import pytest
import vl_convert
from altair.utils.schemapi import validate_jsonschema

import bide
from bide.errors import BadInput
from bide.report.show import enable_notebook
from bide.simulate.operating import Curve
from bide.simulate.simulation import Ways
from made_curves import curve

TRACE = Path(__file__).parents[2] / "examples" / "traces" / "azure-conv-2023-peak15min.csv"


@pytest.fixture(autouse=True)
def _whatever_is_drawn_is_vega_lite(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, schema = vl_convert.vegalite_to_svg, alt.load_schema()

    def held(spec: dict[str, Any]) -> str:
        validate_jsonschema(json.loads(json.dumps(spec)), schema)
        return draw(spec)

    monkeypatch.setattr(vl_convert, "vegalite_to_svg", held)


@pytest.fixture(autouse=True)
def _front_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    def pareto(curves: Sequence[Curve]) -> set[tuple[int, int]]:
        return {(number, 0) for number in range(len(curves))}

    monkeypatch.setattr("bide.simulate.curve.pareto", pareto)


@pytest.fixture(scope="module")
def memory() -> object:
    return bide.memory(bide.Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"}))


def test_each_answer_is_a_chart_in_colours_of_its_own(memory: object) -> None:
    for value in (memory, curve(), [curve(), curve(2, gpu="l40s")]):
        spec = bide.chart(value).to_json()
        assert "#1c6ea4" in spec
        assert "#0606" not in spec


def test_each_answer_is_a_page(memory: object) -> None:
    assert "54 requests of 8,192 tokens at once" in bide.html(memory)
    assert "fp8 cache" in bide.html(memory)
    assert "At the knee" in bide.html(curve())
    assert "For people who read along" in bide.html([curve(), curve(2, gpu="l40s")])


def test_levers_start_from_what_was_said() -> None:
    said = {"model": "llama-3.1-8b", "gpu": "h100-sxm", "kv_dtype": "fp8", "max_model_len": 8192}
    page = bide.html(bide.memory(bide.Deployment.resolve(said)))
    assert "tensor parallel 2" in page
    assert "half the bytes per token" not in page  # the cache is fp8 already


def test_a_plan_is_shown_too(write: Callable[..., Path]) -> None:
    from bide.plan.search import plan
    from bide.plan.service_file import read_question

    found = plan(read_question(write()))
    assert len(bide.chart(found).to_dict()["vconcat"]) == 1
    assert bide.html(found).startswith("<!doctype html>")


def test_a_workload_is_shown_however_much_of_it_is_at_hand() -> None:
    from bide.workload.measuring.description import describe
    from bide.workload.reading.reader import read

    reading = read([TRACE])
    for value in (reading, reading.trace, describe(reading.trace)):
        spec = bide.chart(value).to_json()
        assert '"prompt"' in spec
        assert '"output"' in spec
        page = bide.html(value)
        assert "6,541 requests in 15 min" in page
        assert ("all kept" in page) == (value is reading)
    assert "Requests a second" in bide.html(reading.trace)


def test_a_simulation_is_shown() -> None:
    deployment = bide.Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"})
    made = bide.simulate_workload(deployment, str(TRACE), ways=Ways(requests=300))
    assert "TTFT" in bide.chart(made).to_json()
    assert bide.html(made).startswith("<!doctype html>")


@pytest.mark.parametrize("value", [5, None, [], [5], "x"])
def test_what_is_no_answer_is_refused(value: object) -> None:
    for verb in (bide.chart, bide.html):
        with pytest.raises(BadInput, match=r"bide\.curve"):
            verb(value)


def test_a_notebook_shows_pages_in_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: dict[type, Callable[[object], str]] = {}
    formatter = SimpleNamespace(for_type=shown.__setitem__)
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    ipython = ModuleType("IPython")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    enable_notebook()
    assert shown[Curve](curve()).startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def test_outside_of_a_notebook_there_is_nothing_to_enable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    with pytest.raises(BadInput, match="IPython"):
        enable_notebook()
