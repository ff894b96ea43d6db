"""The page's parts that need no browser: markup, checks, models, levers, charts, the chart library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bide.errors import BadInput
from bide.web.page import bundle, checks
from bide.web.page.fast_answer import fast_answer, fast_details
from bide.web.page.fit_answer import fit_answer, switched
from bide.web.page.learn_answer import learn_answer
from bide.web.page.markup import h, table, why
from bide.web.page.models import fits_address, model_of, packed_config
from bide.web.settings import Settings
from web_page import CONFIG, fresh

SETTINGS = Settings()


@given(st.text(), st.text())
def test_no_text_becomes_markup(text: str, value: str) -> None:
    made = h("p", text, title=value)
    assert made.count("<") == 2
    assert made.count(">") == 2
    assert made.count('"') == 2


def test_attributes_are_bare_left_out_or_quoted() -> None:
    assert h("input", disabled=True, checked=False, id=None, data_set="a&b") == '<input disabled data-set="a&amp;b">'


def test_a_table_names_its_rows_and_columns() -> None:
    made = table(["a", ""], [["x", "1"]], "About")
    assert '<th scope="col">a</th><td></td>' in made
    assert '<th scope="row">x</th><td>1</td>' in made
    assert 'aria-label="About"' in made


def test_nothing_to_explain_has_no_button() -> None:
    assert why("k", [], "x") == ""


@pytest.mark.parametrize(
    ("check", "text", "kept"),
    [
        (checks.tokens("t"), "8k", "8192"),
        (checks.whole("n", 1, 9), " 7 ", "7"),
        (checks.number("u", 0, 1), "0,9", "0.9"),
        (checks.gpu("g"), "NVIDIA H100 80GB HBM3", "h100-sxm"),
        (checks.gpus("g", 3), "l4,H100,l4", "l4,h100-sxm"),
        (checks.some_of("l", ("a", "b")), "b, b,a", "b,a"),
    ],
)
def test_texts_are_kept_in_one_spelling(check: checks.Check, text: str, kept: str) -> None:
    assert check(text) == kept
    assert check(kept) == kept


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (checks.tokens("t"), "0"),
        (checks.whole("n", 1, 9), "10"),
        (checks.whole("n", 1, 9), "٣"),
        (checks.number("u", 0, 1), "nan"),
        (checks.gpu("g"), "unlisted"),
        (checks.gpus("g", 1), "l4,t4"),
        (checks.one_of("o", ("a",)), "b"),
    ],
)
def test_what_a_check_refuses_names_the_field(check: checks.Check, text: str) -> None:
    with pytest.raises(BadInput, match="allowed"):
        check(text)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../x", "./x", "~/x", "x.json", "tests/../x.json", "nobody", "org/nobody"]
)
def test_a_model_is_never_a_path_and_the_hub_is_not_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bide.facts.hf.source.read_model_files", pytest.fail)
    with pytest.raises(BadInput, match="model"):
        model_of({"model": name}, SETTINGS)


def test_a_file_of_the_name_of_a_model_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org").mkdir()
    (tmp_path / "org" / "model").write_text(json.dumps(CONFIG))
    with pytest.raises(BadInput, match="model"):
        model_of({"model": "org/model"}, SETTINGS)


def test_a_config_travels_in_the_address() -> None:
    packed = packed_config(json.dumps(CONFIG))
    assert fits_address(packed)
    model = model_of({"model": "tiny", "config": packed}, SETTINGS)
    assert (model.name, model.layer_count, model.hidden_size) == ("tiny", 16, 2048)


@pytest.mark.parametrize("packed", ["", "x", "é", "eJw", "A" * 4000])
def test_what_no_config_was_packed_into_is_refused(packed: str) -> None:
    with pytest.raises(BadInput):
        model_of({"model": "org/none", "config": packed}, SETTINGS)


def test_a_config_cannot_unpack_without_end() -> None:
    """500 kB of blanks pack into 500 B; more than that is not unpacked, and cut short it is no JSON."""
    import base64
    import zlib

    bomb = base64.urlsafe_b64encode(zlib.compress(b"{" + b" " * 50_000_000 + b"}", 9)).decode().rstrip("=")
    with pytest.raises(BadInput, match="config"):
        model_of({"model": "x", "config": bomb}, SETTINGS)


def test_two_formats_of_weights_exclude_each_other() -> None:
    assert switched("", "+tp") == "tp"
    assert switched("tp,weights_fp8", "+weights_int4") == "tp,weights_int4"
    assert switched("tp,weights_int4", "-tp") == "weights_int4"


def test_levers_work_together() -> None:
    """fp8 halves a request's bytes, two GPUs halve them again and leave more of each."""
    state = fresh()
    state.set("levers", "kv_fp8,tp")
    found = fit_answer(state.frozen(), SETTINGS)
    asked, now = (answer.memory.replica_requests(8192).mid for answer in (found.asked, found.answer))
    assert found.on == ("kv_fp8", "tp")
    assert now > 4 * asked


def test_charts_differ_in_their_data_alone_and_take_the_page_s_colours() -> None:
    """So that the browser puts new data into the chart that is there."""
    first, second = fresh(), fresh()
    second.set("context", "4096")
    specs = [fit_answer(state.frozen(), SETTINGS).contexts for state in (first, second)]
    assert specs[0] is not None
    assert specs[1] is not None
    assert "var(--accent)" in json.dumps(specs[0])
    assert "#0" not in json.dumps(specs[0]["layer"])
    kinds = [{key: value for key, value in spec.items() if key != "datasets"} for spec in specs if spec]
    assert kinds[0].keys() == kinds[1].keys()
    assert set(specs[0]["datasets"]) >= {"d0", "d1"}


def test_a_deployment_that_cannot_be_is_left_out_of_a_comparison_where_others_can() -> None:
    """fp8 weights twice: as the checkpoint has them is bf16; tp 4 divides 32 heads, tp of 3 would not."""
    state = fresh()
    state.set("gpus", "l40s")
    state.set("vary", "tp")
    found = fast_answer(state.frozen(), SETTINGS)
    assert found.said.names == ("l40s", "2 x l40s (TP2)", "4 x l40s (TP4)")
    assert len(found.chosen) == 3
    assert found.throughput is not None
    assert fast_details(found).parts is not None


def test_the_lesson_s_patience_never_needs_more_gpus_than_less_of_it() -> None:
    needed = []
    for patience in ("30", "50", "100"):
        state = fresh()
        state.set("learn_patience", patience)
        fleet = learn_answer(state.frozen()).fleet
        assert fleet is not None
        assert fleet.point.tpot_s is not None
        assert fleet.point.tpot_s <= float(patience) / 1e3
        needed.append(fleet.gpus)
    assert needed == sorted(needed, reverse=True)


def test_the_chart_library_is_made_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def make() -> bytes:
        made.append(1)
        return b"library"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(bundle, "_made", make)
    for _start in range(2):
        bundle.chart_bundle.cache_clear()
        assert bundle.chart_bundle() == b"library"
    assert made == [1]
    bundle.chart_bundle.cache_clear()
