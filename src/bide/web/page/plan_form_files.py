"""The files of a plan's form: a trace or a workload file, and the benchmarks of one replica."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from bide.bench.formats.reading import TOOLS
from bide.i18n import _
from bide.report.words import listed
from bide.web.page import controls
from bide.web.page.gpu_chips import gpu_name
from bide.web.page.markup import Child, h
from bide.web.page.plan_fields import awaiting
from bide.web.page.plan_form_parts import Inputs
from bide.web.page.uploading import drop, uploaded

OF_BENCHMARKS = ("measured", "measured_awaited", "measured_gpu", "measured_as")
"""The inputs of their fold."""


def benchmarks(inputs: Inputs, server: Any) -> Iterator[Child]:
    """The results of one replica, and where they are some, what it ran on."""
    said = _("What one replica did at one or more loads: it is not simulated then. Play the service's own requests.")
    yield h("p", said, class_="hint")
    most = server.settings.limits.upload_bytes // 2**20
    hint = _("Results of {tools}; at most {n:,} MiB each, kept for an hour").format(tools=listed(list(TOOLS)), n=most)
    yield file_drop(inputs, "measured", _("Drop benchmark results here"), hint, server)
    if inputs["measured"] or inputs["measured_awaited"]:
        yield _gpu(inputs)
        hint = _("empty: as the service is run; otherwise as in a service file")
        yield inputs.text("measured_as", hint=hint, placeholder="tp: 2, kv_dtype: fp8")


def _gpu(inputs: Inputs) -> Markup | None:
    """Not asked where there is only one."""
    allowed, now = inputs["plan_gpus"].split(","), inputs["measured_gpu"]
    if len(allowed) == 1 and now in ("", *allowed):
        return None
    known = [*allowed, *([now] if now and now not in allowed else [])]
    return inputs.select("measured_gpu", [("", _("which GPU?")), *((gpu, gpu_name(gpu)) for gpu in known)])


def file_drop(inputs: Inputs, name: str, text: str, hint: str, server: Any) -> Markup:
    """Where files of an input are dropped, those that were, and those that a service file names beside."""
    key, state = inputs.key(name), inputs.state
    zone = drop(key, text, hint, several=name == "measured", wrong=state.error(key))
    awaited = _awaited(key, state[awaiting(key)].splitlines())
    return h("div", zone, awaited, uploaded(state, key, server), class_="field")


def _awaited(key: str, paths: list[str]) -> Markup | None:
    """Each can be given up."""
    if not paths:
        return None
    said = _("The service file names what only your machine has. Drop it above:")
    made = [h("li", h("span", path), _given_up(key, path)) for path in paths]
    return h("div", h("p", said, class_="wrong", role="status"), h("ul", made, class_="files awaited"))


def _given_up(key: str, path: str) -> Markup:
    name = _("Remove {name}").format(name=path)
    return controls.button("×", "give-up", f"{key} {path}", class_="shut-row", name=name)
