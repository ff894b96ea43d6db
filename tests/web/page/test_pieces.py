"""The page's parts that need no browser: markup, checks, models, levers, charts, the chart library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from bide.errors import BadInput
from bide.web.page import bundle, checks
from bide.web.page.compressed import Compressed
from bide.web.page.fast_answer import FastAnswer, fast_answer
from bide.web.page.fast_view import hero
from bide.web.page.fit_answer import fit_answer, switched
from bide.web.page.fit_view import services
from bide.web.page.learn_answer import learn_answer
from bide.web.page.markup import h, table, unbroken, why
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


@pytest.mark.parametrize("rate", ["tokens/s", "токенов/с", "req/giây", "запр/с"])
def test_a_rate_stays_on_one_line_of_a_sentence(rate: str) -> None:
    said = unbroken(f"<b> of meta-llama/Llama-3.1-8B: 1,234 {rate}, and/or more")
    assert said.startswith("&lt;b&gt; of meta-llama/Llama-3.1-8B: 1,234 <span")
    assert f'<span class="unbroken">{rate}</span>, ' in said


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
    assert switched({"levers": ""}, "+tp") == {"levers": "tp"}
    assert switched({"levers": "tp,weights_fp8"}, "+weights_int4") == {"levers": "tp,weights_int4"}
    assert switched({"levers": "tp,weights_int4"}, "-tp") == {"levers": "weights_int4"}


def test_shorter_requests_are_a_lever_too() -> None:
    """Half as long on average, twice as many: 2 x 54.9 = 109.9."""
    state = fresh()
    for key, text in switched(state.frozen(), "+paged").items():
        state.set(key, text)
    found = fit_answer(state.frozen(), SETTINGS)
    assert found.on == ("paged",)
    assert found.answer.mean_tokens == 4096
    assert "109 requests" in found.answer.sentence()
    assert found.contexts is not None
    assert [row["x"] for row in found.contexts["datasets"]["marked"]] == [2048, 4096, 8192, 32768, 131072]
    assert switched(state.frozen(), "-paged") == {"mean_tokens": ""}


def test_levers_work_together() -> None:
    """fp8 halves a request's bytes, two GPUs halve them again and leave more of each."""
    state = fresh()
    state.set("levers", "kv_fp8,tp")
    found = fit_answer(state.frozen(), SETTINGS)
    asked, now = (answer.memory.replica_requests(8192).mid for answer in (found.asked, found.answer))
    assert found.on == ("kv_fp8", "tp")
    assert now > 4 * asked


CHANGES = (("context", "4096"), ("levers", "kv_fp8"), ("gpu", "b200-sxm"), ("model", "Qwen/Qwen3-8B"), ("tp", "2"))


@pytest.mark.parametrize(("key", "text"), CHANGES)
def test_charts_differ_in_data_and_parameters_alone(key: str, text: str) -> None:
    """So that the browser puts new data into the chart that is there, whatever is changed."""
    first, second = fresh(), fresh()
    second.set(key, text)
    for chart in ("card", "contexts"):
        specs = [getattr(fit_answer(state.frozen(), SETTINGS), chart) for state in (first, second)]
        shapes = [{k: v for k, v in one.items() if k not in ("datasets", "params")} for one in specs]
        assert shapes[0] == shapes[1]
        assert "var(--" in json.dumps(shapes[0])
        assert "#0" not in json.dumps({**shapes[0], "config": None})


def test_curves_of_the_same_cards_differ_in_data_and_parameters_alone() -> None:
    first, second = fresh(), fresh()
    second.set("prompt", "3000")
    second.set("clients", "64")
    specs = [fast_answer(state.frozen(), SETTINGS) for state in (first, second)]
    for charts in ([one.throughput for one in specs], *zip(*(_details(one) for one in specs), strict=True)):
        shapes = [{k: v for k, v in (one or {}).items() if k not in ("datasets", "params")} for one in charts]
        assert shapes[0]
        assert shapes[0] == shapes[1]


def _details(answer: FastAnswer) -> tuple[object, ...]:
    return answer.charts.parts, answer.charts.whole, answer.charts.first


def test_a_deployment_that_cannot_be_is_left_out_of_a_comparison_where_others_can() -> None:
    """fp8 weights twice: as the checkpoint has them is bf16; tp 4 divides 32 heads, tp of 3 would not."""
    state = fresh()
    state.set("gpus", "l40s")
    state.set("vary", "tp")
    found = fast_answer(state.frozen(), SETTINGS)
    assert found.said.names == ("l40s", "2 x l40s (TP2)", "4 x l40s (TP4)")
    assert len(found.chosen) == 3
    assert found.throughput is not None
    assert found.charts.parts is not None


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


FILE = b"let a = 1;\n" * 200


def test_what_never_changes_is_compressed_once() -> None:
    from starlette.responses import Response
    from starlette.testclient import TestClient

    asked = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope["path"])
        kept = {"cache-control": "public, immutable"} if scope["path"] == "/kept.js" else {}
        await Response(FILE, media_type="text/javascript", headers=kept)(scope, receive, send)

    client = TestClient(Compressed(app))
    answers = [client.get(path) for path in ("/kept.js", "/kept.js", "/other.js", "/other.js")]
    assert all(answer.content == FILE for answer in answers)
    assert [answer.headers.get("content-encoding") for answer in answers] == ["gzip", "gzip", None, None]
    assert int(answers[1].headers["content-length"]) < 100
    assert asked == ["/kept.js", "/other.js", "/other.js"]
    plain = client.get("/kept.js", headers={"accept-encoding": "identity"})
    assert (plain.content, plain.headers.get("content-encoding")) == (FILE, None)


def test_the_number_s_why_counts_at_the_mean() -> None:
    """28,136 blocks / 256 of a request of 4,096 tokens; what one request holds is told of the longest."""
    state = fresh()
    state.set("mean_tokens", "4096")
    why_of = fit_answer(state.frozen(), SETTINGS).why
    assert "requests of 4,096: 28,136 blocks / 256 = 109.91" in why_of["requests"]
    assert why_of["request"][0] == "a request of 8,192 tokens: 512 blocks x 2 MiB = 1 GiB"


def test_services_say_how_their_gpus_are_counted() -> None:
    """100 x 2,000 tokens and 20 x 16,384 tokens: 100 / 225.1 + 20 / 27.5 = 0.44 + 0.73 replicas."""
    state = fresh()
    said = str(services(state, fit_answer(state.frozen(), SETTINGS)))
    assert "chat: 100 users / 225 that fit on a replica = 0.44" in said
    assert "together 1.17 replicas, rounded up: 2 GPUs" in said
    assert "`" not in said


def test_the_headline_of_curves_says_why() -> None:
    state = fresh()
    state.set("gpus", "h100-sxm,l40s")
    said = str(hero(fast_answer(state.frozen(), SETTINGS)))
    assert "Where the time goes: h100-sxm with 256 clients" in said
    assert "cost: $2.29 an hour" in said
    assert "Source of the step times" in said
