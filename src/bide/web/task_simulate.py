"""The job `simulate`: a workload through a fleet, step for step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.i18n import _
from bide.units import parse_bytes, parse_seconds
from bide.web.answers import deployment_keys, profile_path
from bide.web.task_files import workload_file, write_files

if TYPE_CHECKING:
    from bide.simulate.fleet.rules import At, FleetRules
    from bide.simulate.simulation import Simulation, Ways

_SAME = ("replicas", "router", "prefill_replicas", "decode_replicas", "decode_router", "retries", "queue_limit", "seed")
_TIMES = {
    "think_time": "think_s",
    "link_latency": "link_latency_s",
    "start_up": "start_up_s",
    "patience": "patience_s",
    "timeout": "timeout_s",
    "backoff": "backoff_s",
}


def simulated(ask: Mapping[str, Any], hub: bool, tell: Callable[..., None], out: Path) -> Mapping[str, Any]:
    """The keys of `bide simulate --json`."""
    from bide.facts.layout import timed_deployment
    from bide.simulate.simulation import simulate_workload

    deployment = timed_deployment(deployment_keys(ask["deployment"], hub))
    rules, ways = _rules(ask), _ways(ask)
    workload = workload_file(ask["workload"])
    made = simulate_workload(deployment, workload, rules, ways, lambda share: tell(share, _("simulating")))
    _write(made, ask.get("files", ()), out)
    return made.to_dict()


def _rules(ask: Mapping[str, Any]) -> FleetRules:
    from bide.simulate.fleet.rules import FleetRules

    given: dict[str, Any] = {name: ask[name] for name in _SAME if name in ask}
    given |= {name: parse_seconds(ask[key], key) for key, name in _TIMES.items() if key in ask}
    if "link_bandwidth" in ask:
        text = ask["link_bandwidth"]
        plain = text.removesuffix("/s") if isinstance(text, str) else text
        given["link_bytes_per_s"] = parse_bytes(plain, "link_bandwidth")
    if "concurrency" in ask:
        given["users"] = ask["concurrency"]
    return FleetRules(starts=_events(ask, "start"), failures=_events(ask, "fail"), **given)


def _events(ask: Mapping[str, Any], key: str) -> tuple[At, ...]:
    from bide.simulate.fleet.rules import At

    return tuple(At(each["replica"], parse_seconds(each["time"], key)) for each in ask.get(key, ()))


def _ways(ask: Mapping[str, Any]) -> Ways:
    from bide.simulate.simulation import Ways

    return Ways(
        rate=ask.get("rate"),
        scale=ask.get("scale"),
        requests=ask.get("requests"),
        slo={name: parse_seconds(value, f"slo.{name}") for name, value in ask.get("slo", {}).items()},
        warm_up_s=parse_seconds(ask["warm_up"], "warm_up") if "warm_up" in ask else None,
        steps=ask.get("steps", "roofline"),
        profile=profile_path(ask),
        step_error=ask.get("step_error", True),
        max_tokens=ask.get("max_tokens"),
        mixed_chunk=ask.get("mixed_chunk", False),
    )


def _write(made: Simulation, wanted: list[str], out: Path) -> None:
    from bide.report import simulate_files as files
    from bide.report import simulate_page as page

    makers: dict[str, Callable[[], str | bytes]] = {
        "html": lambda: page.simulate_page(made),
        "md": lambda: files.simulate_markdown(made),
        "png": lambda: page.simulate_png(made),
        "svg": lambda: page.simulate_svg(made),
    }
    write_files(wanted, makers, out)
    if "requests.csv" in wanted:
        files.write_requests(made, out / "requests.csv")
