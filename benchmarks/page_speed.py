"""How soon the page is there, and how soon it follows an input: a real Chromium on a server of this machine.

    python benchmarks/page_speed.py [--changes 25] [--loads 7] [--url http://127.0.0.1:8321/] [--only fast]

Needs playwright and a Chromium. All times are taken within the page, so that what drives it does not count: an input
counts from its event's time stamp to the frame in which what it changes is painted. `numbers` are the answer's first
change, `chart` is the first chart on screen, `all` the last change of anything, also off screen. Processor times are of
the server's process and of the browser's main thread, for one change; they say more than the clock on a busy machine,
though what the benchmark itself asks of the page is in them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from urllib.error import URLError

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

WATCH = """
(() => {
  const speed = (window.bideSpeed = { input: 0, numbers: 0, chart: 0, all: 0, mutations: 0, there: 0, drawn: 0 });
  const channel = new MessageChannel();
  let waiting = [];
  channel.port1.onmessage = () => {
    const now = performance.now();
    for (const told of waiting.splice(0)) told(now);
  };
  const painted = (told) => requestAnimationFrame(() => (waiting.push(told), channel.port2.postMessage(0)));
  const asked = (event) => Object.assign(speed, { input: event.timeStamp, numbers: 0, chart: 0, all: 0 });
  addEventListener("input", asked, true);

  const element = (node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement);
  const seen = (at) => ((place) => place.top < innerHeight && place.bottom > 0)(at.getBoundingClientRect());
  const shown = () => document.querySelector("[role=tabpanel]:not([hidden])");
  function changed(records) {
    const panel = shown();
    const within = records.map((record) => [record, element(record.target)]).filter(([, at]) => panel?.contains(at));
    if (!within.length) return;
    speed.mutations = performance.now();
    const drawn = within.filter(([record]) => record.attributeName === "data-drawn").map(([, at]) => at);
    const numbers = within.some(([, at]) => !at.closest(".plot, .form, .fields"));
    const input = speed.input;
    painted((now) => {
      if (input !== speed.input) return;
      if (numbers && !speed.numbers) speed.numbers = now;
      if (!speed.chart && drawn.some(seen)) speed.chart = now;
      speed.all = now;
      if (speed.drawn) return;
      const plots = [...panel.querySelectorAll(".plot")].filter((plot) => plot.clientWidth);
      if (!speed.there && panel.querySelector(".hero, .sentence")?.textContent) speed.there = now;
      if (!speed.drawn && speed.there && plots.length && plots.every((plot) => plot.dataset.drawn)) speed.drawn = now;
    });
  }
  const all = { subtree: true, childList: true, characterData: true, attributes: true };
  new MutationObserver(changed).observe(document, all);
  speed.quiet = (ms) =>
    new Promise((resolve) => {
      const look = () => (speed.all && performance.now() - speed.mutations > ms ? resolve() : setTimeout(look, 20));
      look();
    });
})();
"""
LOADED = """
() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
  there: bideSpeed.there,
  drawn: bideSpeed.drawn,
  requests: performance.getEntriesByType("resource").length + 1,
  bytes: performance.getEntries().reduce((sum, entry) => sum + (entry.transferSize ?? 0), 0),
})
"""
CHANGED = (
    "() => ['numbers', 'chart', 'all'].map((what) => (bideSpeed[what] ? bideSpeed[what] - bideSpeed.input : null))"
)
"""Milliseconds; null for what did not change."""
DRAG = """
async (selector) => {
  const slider = document.querySelector(selector);
  const from = Number(slider.value);
  for (const step of [1, 2, 3, 4, 3, 2, 1, 0, -1, -2, -3, -2, -1, 0, slider.dataset.odd ? 1 : -1]) {
    slider.value = from + step;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise(requestAnimationFrame);
  }
  slider.dataset.odd = slider.dataset.odd ? "" : "yes";
}
"""
BROWSER_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
QUIET_MS = 350
"""Without any change, until a change counts as answered; its time is that of the last change."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
Change = Callable[[Page], None]


@dataclass(frozen=True)
class Round:
    """Inputs of one kind, and where."""

    name: str
    query: str
    changes: Sequence[Change]


@dataclass
class Measured:
    """Milliseconds of each change, and the processor's in all."""

    numbers: list[float] = field(default_factory=list)
    chart: list[float] = field(default_factory=list)
    all: list[float] = field(default_factory=list)
    server_ms: float = 0.0
    browser: dict[str, float] = field(default_factory=dict)


def press(selector: str, *keys: str) -> list[Change]:
    return [partial(_press, selector, key) for key in keys]


def _press(selector: str, key: str, page: Page) -> None:
    page.locator(selector).press(key)


def types(selector: str, *texts: str) -> list[Change]:
    return [partial(_fill, selector, text) for text in texts]


def _fill(selector: str, text: str, page: Page) -> None:
    page.locator(selector).fill(text)


def clicks(*selectors: str) -> list[Change]:
    return [partial(_click, selector) for selector in selectors]


def _click(selector: str, page: Page) -> None:
    page.locator(selector).click()


def chooses(selector: str, *values: str) -> list[Change]:
    return [partial(_choose, selector, value) for value in values]


def _choose(selector: str, value: str, page: Page) -> None:
    page.locator(selector).select_option(value)


def drags(selector: str) -> list[Change]:
    """A slider to its end and back, a step each frame; what counts is the last step's answer."""
    return [lambda page: page.evaluate(DRAG, selector)]


TO_AND_FRO = ("ArrowRight",) * 4 + ("ArrowLeft",) * 4
ROUNDS = (
    Round("fit: tokens", "", types("#context", *(str(n) for n in range(2000, 60000, 1900)))),
    Round("fit: switches", "", clicks("#levers-kv_fp8", "#levers-tp", "#levers-weights_fp8", "#levers-weights_int4")),
    Round(
        "fit: GPU",
        "",
        chooses("#panel-fit #gpu", "h200-sxm", "l40s", "a100-80g-sxm", "b200-sxm", "mi300x", "h100-sxm"),
    ),
    Round("fast: requests", "?tab=fast", press("#clients-slider", *TO_AND_FRO)),
    Round("fast: drag", "?tab=fast", drags("#prompt-slider")),
    Round("fast: prompt", "?tab=fast", types("#prompt", *(str(n) for n in range(1100, 9000, 263)))),
    Round("fast: answer", "?tab=fast", types("#output", *(str(n) for n in range(110, 3000, 97)))),
    Round("learn: patience", "?tab=learn", press("#learn_patience-slider", *TO_AND_FRO)),
)  # fmt: skip


@contextmanager
def server(url: str | None) -> Iterator[tuple[str, int | None]]:
    """The address and the process of a server: the one that is told, or one of its own."""
    if url:
        yield url.rstrip("/"), None
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen([sys.executable, "-m", "bide", "serve", "--no-open", "--port", str(port)],
                               stdout=subprocess.DEVNULL)  # fmt: skip
    try:
        wait_for(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}", process.pid
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/", timeout=5):
                time.sleep(2)  # its warming up
                return
        except (URLError, OSError):
            time.sleep(0.2)
    raise SystemExit("the server did not start")


def processor_ms(pid: int | None) -> float:
    """What a process has used so far; nan where it is not known."""
    if pid is None:
        return float("nan")
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1e3 / _TICKS_PER_S


def opened(page: Page, url: str, query: str = "") -> None:
    page.add_init_script(WATCH)
    page.goto(f"{url}/{query}")
    page.wait_for_function("() => window.bideSpeed.drawn", timeout=60_000)
    page.evaluate(f"() => bideSpeed.quiet({QUIET_MS})")


def loads(browser: Browser, url: str, times: int) -> Iterator[tuple[str, list[dict[str, float]]]]:
    """First with nothing kept by the browser, then with its cache."""
    cold: list[dict[str, float]] = []
    warm: list[dict[str, float]] = []
    for _load in range(times):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        for found in (cold, warm):
            page = context.new_page()
            opened(page, url)
            found.append(page.evaluate(LOADED))
            page.close()
        context.close()
    yield "cold", cold
    yield "warm", warm


def measured(browser: Browser, url: str, pid: int | None, asked: Round, changes: int) -> Measured:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, found = context.new_page(), Measured()
    opened(page, url, asked.query)
    devtools = context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    steps = cycle(asked.changes)
    for warming in (True, False):
        before, used = browser_ms(devtools), processor_ms(pid)
        for _change in range(4 if warming else changes):
            next(steps)(page)
            page.evaluate(f"() => bideSpeed.quiet({QUIET_MS})")
            if not warming:
                for name, value in zip(("numbers", "chart", "all"), page.evaluate(CHANGED), strict=True):
                    if value is not None:
                        getattr(found, name).append(value)
    found.server_ms = (processor_ms(pid) - used) / changes
    found.browser = {name: (value - before[name]) / changes for name, value in browser_ms(devtools).items()}
    context.close()
    return found


def browser_ms(devtools: CDPSession) -> dict[str, float]:
    """What the page's main thread has used so far."""
    metrics = {one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]}
    return {name: metrics[f"{name}Duration"] * 1e3 for name in ("Task", "Script", "Layout", "RecalcStyle")}


def percentile(values: Sequence[float], percent: float) -> float:
    ranked = sorted(values) or [float("nan")]
    return ranked[min(len(ranked) - 1, round(percent / 100 * (len(ranked) - 1)))]


def show_loads(name: str, found: Sequence[dict[str, float]]) -> None:
    cells = [f"{percentile([one[key] for one in found], 50):7.0f} {percentile([one[key] for one in found], 95):6.0f}"
             for key in ("paint", "there", "drawn")]  # fmt: skip
    last = found[-1]
    print(f"{name:16}{''.join(cells)}{last['requests']:8.0f} requests {last['bytes'] / 1024:8.0f} KiB")


def show_changes(asked: Round, found: Measured) -> None:
    cells = [f"{percentile(values, 50):7.0f} {percentile(values, 95):6.0f}"
             for values in (found.numbers, found.chart, found.all)]  # fmt: skip
    used = "".join(f"{value:8.1f}" for value in (found.server_ms, *found.browser.values()))
    print(f"{asked.name:16}" + "".join(cells) + used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=25)
    parser.add_argument("--loads", type=int, default=7)
    parser.add_argument("--only", default="", help="rounds whose names begin with it")
    parser.add_argument("--url")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "/usr/bin/chromium")
    asked = parser.parse_args()
    with server(asked.url) as (url, pid), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=asked.chromium, args=BROWSER_ARGS)
        print(f"load {os.getloadavg()[0]:.1f}; milliseconds, p50 and p95")
        if asked.loads:
            print(f"{'opened':16}{'first paint':>14}{'numbers':>14}{'charts':>14}")
            for name, found in loads(browser, url, asked.loads):
                show_loads(name, found)
        used = "".join(f"{name:>8}" for name in ("server", "browser", "script", "layout", "style"))
        print(f"{'changed':16}{'numbers':>14}{'chart':>14}{'all':>14}{used}")
        for one in ROUNDS:
            if one.name.startswith(asked.only):
                show_changes(one, measured(browser, url, pid, one, asked.changes))
        print(f"load {os.getloadavg()[0]:.1f}")
        browser.close()


if __name__ == "__main__":
    main()
