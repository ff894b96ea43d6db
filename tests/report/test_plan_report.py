"""What a plan's report says, by its content: text, page, Markdown, arithmetic."""

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import yaml

from bide.plan.answer import Plan
from bide.plan.as_dict import plan_dict
from bide.plan.rejection import Rejection
from bide.plan.search import plan
from bide.plan.service_file import read_question
from bide.plan.sharing import SharedFleet
from bide.plan.splitting import MixedFleet, Part
from bide.report.plan_explain import plan_explain
from bide.report.plan_html import plan_html
from bide.report.plan_markdown import plan_markdown
from bide.report.plan_text import plan_text
from made_plans import ONE_CANDIDATE
from made_profile import profile, write_profile
from plan_inputs import FILE, LLAMA

Make = Callable[[Callable[[dict[str, Any]], object] | None], Plan]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A plan of one candidate with the profile made by hand, after a change to the service file."""
    folder = tmp_path_factory.mktemp("plans")
    (folder / "llama.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    calibrated = write_profile(folder / "mine.json", profile(off=0.5))

    def made(change: Callable[[dict[str, Any]], object] | None = None) -> Plan:
        content: dict[str, Any] = copy.deepcopy(FILE)
        content["services"][0]["deployment"] = ONE_CANDIDATE
        if change:
            change(content)
        path = folder / "service.yaml"
        path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
        return plan(read_question(path), profile=calibrated)

    return made


@pytest.fixture(scope="module")
def met(make: Make) -> Plan:
    """As if it had been asked with flags."""
    found = make(None)
    return replace(found, question=replace(found.question, flags=("--peak-rps 12", "--margin 1.5")))


@pytest.fixture(scope="module")
def met_page(met: Plan) -> str:
    return plan_html(met)


@pytest.fixture(scope="module")
def refused(make: Make) -> Plan:
    return make(lambda content: content["services"][0]["patience"].update(ttft_p95="1ms"))


@pytest.fixture(scope="module")
def whole(make: Make) -> Plan:
    """For whole answers, with a day, an API, users, a spare replica, and no margin given."""

    def change(content: dict[str, Any]) -> None:
        service = content["services"][0]
        service["traffic"] = {"peak_rps": 12, "growth": "10%", "hours": "office", "users": 1000}
        service["patience"] = {"e2e_p95": "20s"}
        service["api_price"] = {"input": 0.15, "output": 0.6}
        content["fleet"] = {"spare_replicas": 1}

    return make(change)


@pytest.fixture(scope="module")
def whole_page(whole: Plan) -> str:
    return plan_html(whole)


def test_the_answer_comes_first_with_its_cost_and_how_sure_it_is(met: Plan) -> None:
    first, second = plan_text(met).splitlines()[:2]
    gpus = met.gpus
    assert first.startswith(f"Run {gpus} x h100-sxm for chat; ${2.95 * gpus:.2f} an hour")
    assert "likely" in second
    assert "predictions of a model fitted to measured runs (profile by hand of 2026-01-02)" in plan_text(met, 1000)


def test_an_answer_that_holds_at_the_slow_end_says_so(met: Plan) -> None:
    (service,) = met.services
    assert service.chosen
    sure = replace(service.chosen, replicas_surely=service.chosen.replicas)
    text = plan_text(replace(met, services=(replace(service, chosen=sure),)), 1000)
    assert "Sure as predictions go: it is enough even where steps take as much longer" in text


def test_where_the_choice_is_never_sure_what_would_be_is_named(met: Plan) -> None:
    (service,) = met.services
    assert service.chosen
    unsure = replace(service.chosen, replicas_surely=None)
    other = replace(service.chosen, replicas_surely=40)
    found = replace(met, services=(replace(service, chosen=unsure, others=(other,)),))
    text = plan_text(found, 1000)
    assert "not even 64 GPUs in such replicas are enough (40 in replicas of h100-sxm" in text
    assert ", $86,140 a month, would be, for chat)" in text  # 40 x $2.95 x 730
    assert "> 64" in text


def test_the_five_steps_stand_in_their_order(met: Plan) -> None:
    titles = (
        "1 Patience:",
        "2 Peak:",
        "3 One card with the production mix:",
        "4 Add cards until it holds:",
        "5 What would patience save:",
    )
    for said in (plan_text(met, 1000), re.sub(r"### (\d)\. (.*)", r"\1 \2:", plan_markdown(met))):
        places = [said.index(title) for title in titles]
        assert places == sorted(places)


def test_one_service_is_read_in_a_minute(met: Plan, whole: Plan) -> None:
    assert len(plan_text(met).splitlines()) <= 85
    assert len(plan_text(whole).splitlines()) <= 85


def test_the_text_fits_its_width(met: Plan) -> None:
    folded = [line for line in plan_text(met, 80).splitlines() if "llama.json" not in line]
    assert max(map(len, folded)) <= 80


def test_everything_assumed_and_cited_is_listed(met: Plan) -> None:
    text = plan_text(met, 1000) + plan_explain(met, 1000)
    steps = "step times = roofline with the profile by hand of 2026-01-02 (3 points; median error: 7%; it holds runs of"
    for words in (steps, "engine_version", "arrivals = Poisson", "h100-sxm, bandwidth: ", "given in the service file"):
        assert words in text


def test_defaults_of_the_engine_share_a_line(met: Plan) -> None:
    (line,) = [line for line in plan_text(met, 1000).splitlines() if "default of vllm" in line]
    assert "gpu_memory_utilization = 0.92, block_size = 16" in line


def test_a_margin_nobody_gave_is_said_to_be_assumed(whole: Plan) -> None:
    assert "margin of chat = 1.5 (not given)" in plan_text(whole)


def test_the_table_of_doublings_halves_the_batch_and_not_the_wait(whole: Plan) -> None:
    table = plan_text(whole).split("faster by")[1].split("5 What")[0].splitlines()[2:]
    held = [re.split(r"\s{2,}", line.strip()) for line in table if " s (" in line and "TP" not in line]
    doubled = [row for row in held if row[-1] != "–"]
    assert doubled
    for row in doubled:
        assert 0 < int(row[-1].rstrip("%")) < 100
    batches = [float(row[4]) for row in held]
    assert batches == sorted(batches, reverse=True)


def test_the_frontier_marks_what_was_asked_and_names_what_streaming_saves(whole: Plan) -> None:
    text = plan_text(whole, 1000)
    assert "20 s (asked)" in text
    assert "30 s instead of 20 s (E2E p95)" in text
    assert "Streamed, with the first token within 1 s (TTFT p95)" in text


def test_what_a_second_saved_is_told_of_those_before_the_limit(whole: Plan) -> None:
    table = plan_text(whole, 1000).split("E2E p95   GPUs, likely")[1]
    assert "saved per second" in table.splitlines()[0]
    assert "more saves" not in plan_text(whole) + plan_html(whole)


def test_all_limits_together_are_lengthened_where_there_are_several(met: Plan, whole: Plan) -> None:
    (service,) = met.services
    assert [point.seconds for point in service.together] == [1.5, 2.0]
    fewer = [replace(point, gpus=1, usd_per_month=100.0) for point in service.together]
    text = plan_text(replace(met, services=(replace(service, together=tuple(fewer)),)), 2000)
    assert "With all limits 1.5 times as long it takes 1 GPU (replicas of h100-sxm) and saves $" in text
    assert "With all limits 2 times as long it takes 1 GPU" in text
    asked = next(point for point in service.frontier if point.seconds == 1.0)
    same = replace(met, services=(replace(service, together=(replace(asked, seconds=2.0),)),))
    assert "All limits 2 times as long would save nothing." in plan_text(same, 2000)
    assert "ll limits" not in plan_text(whole)


def test_what_is_too_hasty_is_told_the_first_limit_that_can_be_kept(met: Plan) -> None:
    (service,) = met.services
    points = [replace(point, gpus=None) if point.seconds < 3 else point for point in service.frontier]
    hasty = replace(met, services=(replace(service, chosen=None, frontier=tuple(points), together=()),))
    assert "With 3 s (TTFT p95) it could be done on " in plan_text(hasty, 2000)


def test_too_few_gpus_are_not_said_to_be_too_slow(met: Plan) -> None:
    (service,) = met.services
    for unit, said in (("GPUs", "on as many GPUs as are allowed."), ("s", "whatever the number of GPUs.")):
        why = Rejection("h100-sxm", "needs 120.", 120, 16, unit, "")
        refused = replace(service, chosen=None, rejections=(why,), frontier=())
        assert f"No candidate keeps the patience{', ' if unit == 's' else ' '}{said}" in plan_text(
            replace(met, services=(refused,)), 2000
        )


def test_a_step_with_nothing_but_a_table_has_its_title(met: Plan) -> None:
    (service,) = met.services
    asked = next(number for number, point in enumerate(service.frontier) if point.seconds == 1.0)
    short = replace(service, frontier=service.frontier[: asked + 1], together=())
    assert "  5 What would patience save:\n" in plan_text(replace(met, services=(short,)))


def test_the_bill_can_be_multiplied_by_hand(met: Plan) -> None:
    (service,) = met.services
    assert service.chosen
    assert service.chosen.cost
    cost = replace(service.chosen.cost, gpus=3, price=replace(service.chosen.cost.price, usd_per_hour=0.805))
    text = plan_text(replace(met, services=(replace(service, chosen=replace(service.chosen, cost=cost)),)), 2000)
    assert "3 x $0.805 = $2.415 an hour, $1,763 a month of 730 hours" in text  # 2.415 x 730 = 1,762.95
    many = replace(cost, gpus=24, price=replace(cost.price, usd_per_hour=4.89))
    text = plan_text(replace(met, services=(replace(service, chosen=replace(service.chosen, cost=many)),)), 2000)
    assert "24 x $4.89 = $117.36 an hour, $85,673 a month" in text


def test_the_bill_says_what_it_comes_to_and_on_which_side_of_an_api_it_is(whole: Plan) -> None:
    text = plan_text(whole, 2000)
    assert f"{whole.gpus} x $2.95 = " in text
    assert whole.usd_per_month
    assert f", ${whole.usd_per_month / 1000:.2f} a user a month" in text
    assert re.search(r"Owning pays from [\d.]+ requests/s on", text)
    assert "Energy: at most" in text


def test_a_mixed_fleet_says_who_goes_where_and_what_it_saves(met: Plan) -> None:
    (service,) = met.services
    chosen = service.chosen
    assert chosen
    assert chosen.cost
    part = Part(service.service, chosen, service.verified)
    single = replace(chosen, cost=replace(chosen.cost, gpus=3 * chosen.gpus))
    mixed = MixedFleet(1500, 0.8, part, part, single)
    text = plan_text(replace(met, services=(replace(service, mixed=mixed),)), 2000)
    each = f"{chosen.gpus} x h100-sxm"
    assert f"{each} (prompts up to 1,500 tokens) and {each} (longer ones) for chat" in text
    assert f"(80% of the requests) to {each}, the others to {each}: ${2.95 * chosen.gpus:.2f} an hour less" in text
    assert text.count("simulated with") == 3  # the single fleet, and both parts
    assert text.count("$ vllm serve") == 2


def test_a_shared_fleet_says_for_whom_and_what_it_saves(met: Plan) -> None:
    (service,) = met.services
    chosen = service.chosen
    assert chosen
    other = replace(service, service=replace(service.service, name="mail"))
    shared = SharedFleet(("chat", "mail"), service.service, chosen, (chosen, chosen))
    text = plan_text(replace(met, services=(service, other), shared=(shared,)), 2000)
    assert text.startswith(f"Run {chosen.gpus} x h100-sxm for chat and mail together; ")
    assert f"alone they would take {2 * chosen.gpus} GPUs" in text


def test_spare_replicas_are_told_apart(whole: Plan) -> None:
    assert "1 of them spare" in plan_text(whole).splitlines()[0]
    assert "1 replica more for failures and updates" in plan_text(whole, 1000)


def test_the_day_and_the_thresholds_are_told_with_the_engine_s_own_metrics(whole: Plan, whole_page: str) -> None:
    text = plan_text(whole, 1000)
    assert "vllm:num_requests_running is above" in text
    assert re.search(r"Fixed, the fleet takes \d+ GPU-hours a day; by the clock \d+ \(\d+% less", text)
    assert "vllm:kv_cache_usage_perc" in whole_page


def test_a_goodput_alone_is_told_too(make: Make) -> None:
    goodput = {"goodput": {"share": "95%", "ttft": "1s", "tpot": "50ms"}}
    found = make(lambda content: content["services"][0].update(patience=goodput))
    text = plan_text(found, 1000)
    assert "95% of the requests with TTFT at most 1 s and TPOT at most 50 ms" in text
    assert re.search(r"[\d.]+% of the requests keep every limit \([\d.]+% to [\d.]+%\)", text)
    assert "worst over limit, p95" in plan_html(found)
    json.dumps(plan_dict(found), allow_nan=False)


def test_a_refusal_says_why_and_what_would_do(refused: Plan) -> None:
    text = plan_text(refused, 1000)
    assert text.startswith("Cannot be met with this hardware: chat.\nNearest for chat: h100-sxm")
    assert "ttft_p95 is " in text
    assert "no number of GPUs cures that" in text
    assert "The least patience that it can keep is" in text
    assert "Cannot be met" in plan_html(refused)
    assert "Cannot be met" in plan_markdown(refused)


def test_the_page_needs_nothing_from_elsewhere(met: Plan, met_page: str) -> None:
    outside = re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"')\s>]+)""", met_page)
    assert [link for link in outside if not link.startswith("#")] == []
    assert "<script" not in met_page
    told = plan_text(met, 10_000) + plan_explain(met, 10_000)
    assert set(re.findall(r"https?://[^\s\"'<]+", met_page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    } | set(re.findall(r"https?://[^\s\"'<]+", told))


def test_the_page_has_its_charts_in_the_page_s_own_colours(whole_page: str) -> None:
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", whole_page)
    assert captions == [
        "E2E p95 of one replica by its load",
        "The day, as it is planned for",
        "Lengths: the share of requests with at most so many tokens",
        "Where the memory of one GPU goes",
        "How many requests fit",
        "E2E p95 by number of GPUs",
        "Requests at once on each GPU",
        "What each patience costs",
        "The same if only the first token must come soon",
        "Replicas that it would take, as a share of the planned ones, before rounding",
        "Replicas needed in each hour, against a fixed fleet",
    ]
    assert whole_page.count("<svg") == 2 * len(captions)  # wide and narrow
    assert not re.findall(r"#0[1-6]0\d0\d", whole_page)
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", whole_page))
    assert used <= set(re.findall(r"(--[a-z0-9-]+):", whole_page))
    assert "prefers-color-scheme: dark" in whole_page


def test_the_page_says_how_to_make_it_again(met: Plan, met_page: str) -> None:
    for said in (met_page, plan_markdown(met)):
        assert "bide plan service.yaml --peak-rps 12 --margin 1.5 --profile mine.json" in said
        assert "model: ./llama.json" in said
        assert "come from the seed" in said


def test_names_from_the_file_are_shown_and_never_run(met: Plan) -> None:
    (service,) = met.services
    named = replace(service, service=replace(service.service, name="<b>chat</b> | *x*"))
    found = replace(met, services=(named,))
    page = plan_html(found)
    assert "<b>chat" not in page
    assert "&lt;b&gt;chat&lt;/b&gt;" in page
    assert "\\<b\\>chat" in plan_markdown(found)


def test_markdown_tables_have_as_many_cells_as_headers(whole: Plan) -> None:
    tables = re.findall(r"(?:^\| .*\n)+", plan_markdown(whole), flags=re.MULTILINE)
    assert len(tables) >= 5
    for made in tables:
        lines = made.splitlines()
        assert {len(re.split(r"(?<!\\)\|", line)) for line in lines} == {len(re.split(r"(?<!\\)\|", lines[0]))}


def test_the_explanation_multiplies_out(met: Plan) -> None:
    text = plan_explain(met)
    step = re.search(r"of ([\d.]+): ([\d.]+) ms fixed \+ ([\d.]+) ms weights \+ [\d.]+ x \((\d+) us .* (\d+) us", text)
    assert step
    running, fixed, weights, cache, other = map(float, step.groups())
    decode = re.search(r"else\) = ([\d.]+) ms", text)
    assert decode
    assert fixed + weights + running * (cache + other) / 1e3 == pytest.approx(float(decode[1]), rel=0.05)
    found = re.search(r"each replica: ([\d.]+) requests/s / (\d+) = ([\d.]+)", text)
    assert found
    planned, replicas, each = map(float, found.groups())
    assert planned / replicas == pytest.approx(each)
    kept = re.search(r"one of so many keeps the patience up to ([\d.]+)", text)
    assert kept
    assert each <= float(kept[1])
    month = re.search(r"(\d+) GPUs x \$([\d.]+) x ([\d.]+) hours = \$([\d,.]+)", text)
    assert month
    assert float(month[1]) * float(month[2]) * float(month[3]) == pytest.approx(float(month[4].replace(",", "")))
    ledger = re.search(r"pool: ([\d.]+) GiB((?: - [\d.]+ \w+)+) = ([\d.]+) GiB", text)
    assert ledger
    taken = sum(map(float, re.findall(r"- ([\d.]+)", ledger[2])))
    assert float(ledger[1]) - taken == pytest.approx(float(ledger[3]), abs=0.04)


def test_json_has_the_five_steps(whole: Plan) -> None:
    found = json.loads(json.dumps(plan_dict(whole), allow_nan=False))
    (service,) = found["services"]
    assert service["patience"] == {"e2e_p95": 20.0}
    assert service["traffic"]["planned_rps"] == pytest.approx(12 * 1.1 * 1.5)
    assert len(service["traffic"]["hours"]) == 24
    assert service["chosen"]["highest_kept_rps_per_replica"]["mid"] > 0
    assert {line["way"] for line in service["doublings"]} == {"replicas", "tp"}
    (asked,) = [point for point in service["frontier"] if point["asked"]]
    assert (asked["measure"], asked["seconds"], asked["saved_gpus"]) == ("e2e_p95", 20.0, 0)
    assert {point["measure"] for point in service["streaming"]} == {"ttft_p95"}
    assert service["together"] == []  # one limit
    assert service["verified"]["kept"]
    assert service["tried"]["candidates"] == 1
    assert asked["gpus_surely"] == service["chosen"]["gpus_surely"]
    assert all(line["kept"] or not line["kept_surely"] for line in service["doublings"])
    assert service["measure_with"].startswith("bide bench ")
    assert found["fleet"]["spare_replicas"] == 1
    assert found["question"]["given"]["services"][0]["name"] == "chat"


def test_limits_are_told_in_the_page_that_the_text_points_to(met: Plan, met_page: str) -> None:
    assert "Failures and cold starts are not simulated" in met_page
    assert "with --explain" in plan_text(met)


def test_a_fleet_that_grew_when_it_was_run_whole_is_told_from_the_frontier(met: Plan) -> None:
    service = met.services[0]
    assert service.chosen is not None
    assert service.verified is not None
    assert "also run whole" not in plan_text(met)
    for added, told in ((1, "1 of them was added because"), (2, "2 of them were added because")):
        grown = replace(service.chosen, replicas=service.chosen.replicas + added)
        verified = replace(service.verified, added=added, replicas=grown.replicas)
        text = plan_text(replace(met, services=(replace(service, chosen=grown, verified=verified),)))
        assert told in " ".join(text.split())
        why = f"has {grown.gpus} GPUs where this table has {service.chosen.gpus}"
        assert why in " ".join(text.split())
