"""Jobs: a process each, told and listened to, bounded, cancelled."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from bide.web import tasks
from bide.web.app import create_app
from bide.web.faults import Busy
from bide.web.job import Job
from bide.web.jobs import Jobs
from bide.web.names import FILE
from bide.web.samples import path, samples
from bide.web.turns import in_turn
from made_measured import table
from made_plans import ONE_CANDIDATE
from web_client import LLAMA, SETTINGS, Serve, cli, fault, upload

TRACE = b"arrival_s,prompt_tokens,output_tokens\n" + b"".join(b"%d,%d,%d\n" % (n, 100 + n, 10) for n in range(150))
ASKED: dict[str, Any] = {"deployment": LLAMA, "requests": 20, "step_error": False}
LONG: dict[str, Any] = {
    "deployment": LLAMA,
    "workload": {"sample": "azure-conv-2023"},
    "requests": 1_000_000,
    "replicas": 50,
    "router": "least-kv",
}


@pytest.fixture(scope="module")
def working() -> Iterator[TestClient]:
    """A server with a process that stands by."""
    app = create_app(replace(SETTINGS, spare=True), with_page=False)
    with TestClient(app, base_url="http://127.0.0.1:8321") as made:
        yield made


def record(client: TestClient, job: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/v1/jobs/{job}").json()
    return found


def until(client: TestClient, job: str, *states: str) -> dict[str, Any]:
    """The record once the job is in one of `states`."""
    for _try in range(1200):
        found = record(client, job)
        if found["state"] in states:
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def test_an_answer_that_is_there_in_time_is_that_of_the_command_line(working: TestClient, tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_bytes(TRACE)
    asked = {**ASKED, "workload": upload(working, TRACE, "trace.csv"), "slo": {"ttft": "1s"}}
    answer = working.post("/api/v1/simulate?wait=60", json={**asked, "files": ["requests.csv", "md"]})
    assert answer.status_code == 200, answer.text
    flags = ("--gpu", "h100-sxm", "--workload", str(tmp_path / "trace.csv"), "--requests", "20", "--no-step-error")
    said = cli("simulate", "llama-3.1-8b", *flags, "--slo", "ttft=1s")
    found = answer.json()
    assert {**found, "workload": None} == {**said, "workload": None}
    assert "trace trace.csv" in found["workload"]["source"]


def test_a_job_is_followed_by_its_events_and_leaves_files(working: TestClient) -> None:
    asked = {**ASKED, "workload": {"sample": "azure-conv-2023"}, "requests": 50, "files": ["requests.csv", "md"]}
    begun = working.post("/api/v1/simulate", json=asked)
    assert begun.status_code == 202
    job = begun.json()
    assert begun.headers["location"] == f"/api/v1/jobs/{job['id']}"
    with working.stream("GET", f"/api/v1/jobs/{job['id']}/events") as events:
        assert events.headers["x-accel-buffering"] == "no"
        lines = list(events.iter_lines())
    named = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert set(named[:-1]) <= {"progress"}
    assert named[-1] == "done"
    last = json.loads(next(line for line in reversed(lines) if line.startswith("data: ")).removeprefix("data: "))
    assert last["share"] == 1.0
    assert [each["name"] for each in last["files"]] == ["report.md", "requests.csv"]
    table = working.get(f"/api/v1/jobs/{job['id']}/files/requests.csv")
    assert len(table.text.splitlines()) == 51
    assert table.headers["content-disposition"].startswith("attachment")
    result = working.get(f"/api/v1/jobs/{job['id']}/result")
    assert result.json()["schema"] == "bide.simulate/1"
    again = working.post("/api/v1/simulate", json=asked)
    assert again.json()["state"] == "done"
    assert working.get(f"/api/v1/jobs/{again.json()['id']}/result").json() == result.json()
    fault(working.get(f"/api/v1/jobs/{job['id']}/files/../../../x"), 404)
    fault(working.get(f"/api/v1/jobs/{job['id']}/files/nothing"), 404)
    assert working.delete(f"/api/v1/jobs/{job['id']}").json()["state"] == "done"
    fault(working.get(f"/api/v1/jobs/{job['id']}"), 404)


def test_what_is_wrong_is_said_with_its_field(client: TestClient) -> None:
    asked = {**ASKED, "workload": upload(client, b"nonsense", "trace.csv")}
    job = client.post("/api/v1/simulate", json=asked).json()["id"]
    found = fault(client.get(f"/api/v1/jobs/{job}/result?wait=60"))
    assert found["field"] == "workload"
    assert record(client, job)["state"] == "failed"
    assert record(client, job)["error"] == found


def test_what_cannot_be_met_is_an_answer(client: TestClient) -> None:
    big = {**ASKED, "deployment": {"model": "deepseek-v3", "gpu": "l40s"}, "workload": {"sample": "azure-conv-2023"}}
    answer = client.post("/api/v1/simulate?wait=60", json=big)
    assert answer.status_code == 200
    assert "GiB" in answer.json()["cannot_be_met"]


def test_a_cancelled_job_is_killed_and_the_queue_is_bounded(client: TestClient) -> None:
    jobs = [client.post("/api/v1/simulate", json=LONG).json()["id"]]
    assert until(client, jobs[0], "running")
    jobs += [client.post("/api/v1/simulate", json={**LONG, "seed": seed}).json()["id"] for seed in (1, 2)]
    assert [record(client, job)["ahead"] for job in jobs] == [None, 1, 2]
    full = client.post("/api/v1/simulate", json={**LONG, "seed": 9})
    assert "2 jobs wait" in fault(full, 429)["message"]
    assert int(full.headers["retry-after"]) > 0
    assert client.post("/api/v1/memory", json={"deployment": LLAMA}).status_code == 200
    assert client.delete(f"/api/v1/jobs/{jobs[1]}").json()["state"] == "cancelled"
    assert client.delete(f"/api/v1/jobs/{jobs[0]}").json()["state"] == "cancelled"
    assert until(client, jobs[2], "running")
    fault(client.get(f"/api/v1/jobs/{jobs[0]}/result"), 410)
    client.delete(f"/api/v1/jobs/{jobs[2]}")
    folder = client.app.state.bide.folder / "jobs"  # type: ignore[attr-defined]
    assert not {path.name for path in folder.iterdir()} & set(jobs)


def test_a_job_that_is_cancelled_before_it_begins_leaves_its_place(tmp_path: Path) -> None:
    async def places() -> list[str]:
        jobs = Jobs(tmp_path, SETTINGS, lambda _kind, name: path(name))
        first = jobs.start("describe", {"workload": {"sample": "azure-conv-2023"}})
        second = jobs.start("describe", {"workload": {"sample": "azure-conv-2023"}, "keep_ticks": True})
        jobs.cancel(first.id)
        while second.state == "waiting":
            await second.changed(second.news, 10)
        states: list[str] = [first.state, second.state]
        await jobs.close()
        return states

    assert asyncio.run(places()) == ["cancelled", "running"]


def test_pages_find_what_another_page_asks_while_it_goes(tmp_path: Path) -> None:
    ask = {"workload": {"sample": "azure-conv-2023"}}

    async def found() -> list[bool]:
        jobs = Jobs(tmp_path, SETTINGS, lambda _kind, name: path(name))
        job = jobs.start("describe", ask, "en")
        seen = [jobs.shared("describe", ask, "en") is job]
        job.shared = True
        seen += [jobs.shared("describe", ask, lang) is job for lang in ("en", "ru")]
        seen += [jobs.shared("describe", {**ask, "keep_ticks": True}, "en") is job]
        jobs.cancel(job.id)
        seen += [jobs.shared("describe", ask, "en") is job]
        await jobs.close()
        return seen

    assert asyncio.run(found()) == [False, True, False, False, False]


def test_a_job_that_takes_too_long_is_ended(serve: Serve) -> None:
    client = serve(limits=replace(SETTINGS.limits, job_s=1.0))
    answer = client.post("/api/v1/simulate?wait=30", json=LONG)
    assert "longer than 1" in fault(answer)["message"]


def test_a_job_that_takes_too_much_memory_is_ended(serve: Serve) -> None:
    client = serve(limits=replace(SETTINGS.limits, job_memory_bytes=40 * 2**20))
    answer = client.post("/api/v1/simulate?wait=60", json=LONG)
    assert fault(answer)["message"]


def test_a_file_that_unpacks_to_gigabytes_ends_its_job_alone(client: TestClient) -> None:
    bomb = b"a,b\n" + b"1,2\n" * 2**20
    sent = upload(client, gzip.compress(bomb, 9) * 200, "trace.csv.gz")
    answer = client.post("/api/v1/describe?wait=0.5", json={"workload": sent})
    client.delete(f"/api/v1/jobs/{answer.json().get('id', 'x' * 22)}")
    assert client.get("/api/v1/health").status_code == 200


def test_the_process_of_a_job_opens_nothing_outside(tmp_path: Path) -> None:
    script = f"""
import os, socket
from pathlib import Path
os.chdir({str(tmp_path)!r})
from bide.web import fence
fence.put_up(Path({str(tmp_path)!r}), network=False)
Path("own").write_text("x"); Path("own").read_text()
import bide.report.plan_html
for attempt in (
    lambda: open("/etc/passwd"), lambda: os.listdir("/"), lambda: open("../x", "w"), lambda: os.scandir("/home"),
    lambda: Path("/etc/hostname").read_text(), lambda: socket.create_connection(("127.0.0.1", 9), 1),
):
    try:
        attempt()
    except PermissionError:
        continue
    raise SystemExit("opened")
os.symlink("/etc/passwd", "link") if False else None
print("kept")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "kept", done.stderr


def test_the_process_ends_with_the_server(tmp_path: Path) -> None:
    told = json.dumps({"memory_bytes": 2**32, "file_bytes": 2**30, "cpu_s": 60, "hub": False, "early": False})
    command = [sys.executable, "-m", "bide.web.worker", told]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 0
    assert process.stdout is not None
    process.stdout.close()


def test_secrets_do_not_reach_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    from bide.web.working import passed_on

    monkeypatch.setattr(os, "environ", {"BIDE_TOKEN": "x", "HF_TOKEN": "y", "PATH": "/bin"})
    assert passed_on(hub=False) == {"PATH": "/bin"}
    assert passed_on(hub=True) == {"PATH": "/bin", "HF_TOKEN": "y"}


def test_samples_are_there_and_say_where_they_are_from(client: TestClient) -> None:
    listed = client.get("/api/v1/samples").json()["samples"]
    assert [each["sample"] for each in listed] == [each.name for each in samples()]
    assert all(each["licence"] and each["source"] for each in listed)
    fault(client.post("/api/v1/describe", json={"workload": {"sample": "nobody"}}))


def test_a_plan_is_that_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    service = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "workload": {"lengths": {"prompt": 300, "output": 20}},
        "traffic": {"peak_rps": 2},
        "patience": {"e2e_p95": "20s"},
    }
    question = {"services": [service], "hardware": {"gpus": ["h100-sxm"], "max_gpus": 2}}
    Path("service.yaml").write_text(json.dumps(question))
    told: list[float] = []
    made = tasks.done(
        "plan", {**question, "files": ["md", "manifests"]}, False, lambda at, _w: told.append(at), Path("out")
    )
    assert without_times(made) == without_times(cli("plan", "service.yaml", "--no-report"))
    assert told == sorted(told)
    assert Path("out", "report.md").exists()
    assert Path("out", "chat", "serve.sh").read_text().startswith("#!")


def without_times(plan: dict[str, Any]) -> dict[str, Any]:
    """Without how long it took to make."""
    for service in plan["services"]:
        service["tried"].pop("seconds", None)
    return plan


def test_a_calibration_leaves_a_profile_that_others_use(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    log = "INFO LLM engine (v0.11.0) with config: model='meta-llama/Llama-3.1-8B', tensor_parallel_size=1\n"
    Path("engine.log").write_text(log + "INFO Available KV cache memory: 50.00 GiB\n")
    ask = {"log": {FILE: "engine.log"}, "deployment": {"gpu": "h100-sxm"}}
    assert tasks.done("calibrate", ask, False, lambda *_said: None, Path("out"))["schema"] == "bide.calibrate/1"
    profile = upload(client, Path("out", "profile.json").read_bytes(), "profile.json")
    deployment = {**LLAMA, "engine_version": "0.11.0"}
    answer = client.post("/api/v1/memory", json={"deployment": deployment, "profile": profile}).json()
    assert answer["pool"]["bytes_per_gpu"] == 50 * 2**30


def test_each_client_has_its_turn() -> None:
    @dataclass
    class Asked:
        client: str
        name: str

    ten = [Asked("a", f"a{n}") for n in range(3, 13)]
    others = [Asked("b", "b1"), Asked("b", "b2"), Asked("c", "c1")]
    running = [Asked("a", "a1"), Asked("a", "a2")]
    order = [each.name for each in in_turn([*ten, *others], running)]
    # b and c have nothing before their first; b's second has one; the first of a's has two that run
    assert order[:4] == ["b1", "c1", "b2", "a3"]
    assert order[3:] == [each.name for each in ten]
    assert [each.name for each in in_turn(ten, [])] == [each.name for each in ten]


def test_one_client_does_not_take_all_places(tmp_path: Path) -> None:
    async def ahead() -> tuple[int | None, str]:
        limits = replace(SETTINGS.limits, jobs_waiting=4, jobs_waiting_each=2)
        jobs = Jobs(tmp_path, replace(SETTINGS, limits=limits), lambda _kind, name: path(name))
        many = [jobs.start("describe", {"workload": {"sample": "azure-conv-2023"}}, client="a") for _job in range(3)]
        with pytest.raises(Busy, match="2 jobs of yours wait"):
            jobs.start("describe", {"workload": {"sample": "azure-conv-2023"}}, client="a")
        one = jobs.start("describe", {"workload": {"sample": "azure-conv-2023"}}, client="b")
        found = one.ahead, many[1].state
        await jobs.close()
        return found

    assert asyncio.run(ahead()) == (1, "waiting")


def test_what_jobs_leave_is_bounded(tmp_path: Path) -> None:
    limits = replace(SETTINGS.limits, all_results_bytes=100)
    jobs = Jobs(tmp_path, replace(SETTINGS, limits=limits), lambda _kind, name: path(name))
    for number in range(4):
        folder = tmp_path / str(number)
        (folder / "out").mkdir(parents=True)
        (folder / "trace.csv").write_bytes(TRACE)
        (folder / "out" / "result.json").write_text(json.dumps({"n": number}) + " " * 32)  # 40 bytes
        job = Job(str(number), "describe", folder, str(number), {})
        jobs._known[job.id] = job
        jobs._finish(job)
        assert not (folder / "trace.csv").exists()
        assert job.result == {"n": number}
    jobs.forget_old()
    assert list(jobs._known) == ["2", "3"]  # the last two have 80 bytes
    assert not (tmp_path / "1").exists()


def test_changes_are_waited_for() -> None:
    async def follow() -> list[bool]:
        job = Job("x", "plan", Path(), "", {})
        late = await job.changed(job.news, 0.01)
        asyncio.get_running_loop().call_later(0.01, lambda: job.tell(share=0.5))
        return [late, await job.changed(job.news, 5.0), await job.changed(0, 0.01)]

    assert asyncio.run(follow()) == [False, True, True]


def test_a_plan_takes_the_benchmark_of_a_replica(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    table(Path("at-2.csv"), 2.0, 0.2, 0.01, prompt=300, output=20)
    service = {
        "name": "chat",
        "model": "llama-3.1-8b",
        "workload": {"lengths": {"prompt": 300, "output": 20}},
        "traffic": {"peak_rps": 2},
        "patience": {"e2e_p95": "1s"},
        "deployment": ONE_CANDIDATE,
        "measured": {"results": [{FILE: "at-2.csv"}]},
    }
    question = {"services": [service], "hardware": {"gpus": ["h100-sxm"], "max_gpus": 4}}
    chosen = tasks.done("plan", question, False, lambda *_said: None, Path("out"))["services"][0]["chosen"]
    assert (chosen["replicas"], chosen["measured"]["results"]) == (2, ["at-2.csv"])  # 2 x 1.5 requests/s


def test_the_results_of_a_benchmark_are_uploads(client: TestClient) -> None:
    service = {"name": "a", "model": "llama-3.1-8b", "workload": {}, "traffic": {}, "measured": {"results": ["/etc/x"]}}
    found = fault(client.post("/api/v1/plan", json={"services": [service], "hardware": {}}))
    assert "measured" in found["field"]
