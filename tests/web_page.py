"""What tests of the page share: a watched tab of a browser, findings of axe-core, a visitor's state, a config.json."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import ConsoleMessage, Page, Request, ViewportSize

from bide.web.page import deployment_form, fast_answer, fit_answer, learn_answer
from bide.web.page.state import State

KEYS = {key.name: key for module in (deployment_form, fit_answer, fast_answer, learn_answer) for key in module.KEYS}


def fresh() -> State:
    return State(KEYS.values())


CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
}
"""Of a 1 B model: 16 layers x 8 heads x (2 x 64 x 2 B) = 32 KiB a token."""


NORMAL: ViewportSize = {"width": 1280, "height": 900}
NARROW: ViewportSize = {"width": 400, "height": 800}


class Watched:
    """A tab of the browser at the page, and what went wrong in it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._asked)

    def look(self, viewport: ViewportSize = NORMAL, color_scheme: Literal["light", "dark"] = "light") -> None:
        """What the window is like, and what the system says of light and dark."""
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(reduced_motion="reduce")  # no colour is on its way to that of the other scheme
        self.page.emulate_media(color_scheme=color_scheme)
        self.page.evaluate("() => new Promise(requestAnimationFrame)")
        self.page.emulate_media(reduced_motion="no-preference")

    def open(self, query: str = "", *, charts: int = 1) -> Page:
        """Go to the page and wait for so many charts."""
        self.page.goto(f"{self.url}/{query}")
        self.page.wait_for_selector("[role=tablist]")
        self.page.wait_for_function("() => window.did_handshake")
        if charts:
            self.wait_for_charts(charts)
        return self.page

    def wait_for_charts(self, charts: int = 1) -> None:
        seen = "() => [...document.querySelectorAll('.plot[data-drawn]')].filter(e => e.clientWidth).length >= "
        self.page.wait_for_function(seen + str(charts), timeout=30_000)

    def forget(self) -> None:
        """What went wrong before a test is not its own."""
        self.errors.clear()
        self.elsewhere.clear()

    def check(self) -> None:
        assert self.errors == []
        assert self.elsewhere == []

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self.url, self.url.replace("http", "ws", 1), "data:", "blob:")):
            self.elsewhere.append(request.url)


def within_the_window(page: Page) -> None:
    """Nothing is wider than it, once what is being drawn for its width is there."""
    page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")


AXE = "async () => (await axe.run(document, {resultTypes: ['violations'], selectors: false})).violations"


def serious_findings(page: Page, axe_source: str) -> list[str]:
    """What axe-core calls serious or critical, with the elements."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(axe_source)
    found = page.evaluate(AXE)
    return [
        f"{rule['id']}: {rule['help']}: {[(node['html'][:160], node['failureSummary']) for node in rule['nodes']][:4]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
