"""`workload`: a trace, lengths, or a workload file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bide.errors import BadInput
from bide.i18n import _
from bide.located import Located, read_yaml
from bide.workload.arrivals import SEED
from bide.workload.lengths import DRAWS, described_workload
from bide.workload.readers import read_both
from bide.workload.requests import Workload
from bide.workload.trace import Trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

KINDS = ("trace", "lengths", "file")
_RATE = 1e-6, 1e6
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, eq=False)
class AskedWorkload:
    """The requests, and what else their source tells.

    `recorded` is the whole trace where it has recorded times: load that was not answered is load. `shared` has
    the rows of `requests` where prompts share beginnings. `observed_rps` is the peak that a Prometheus saw.
    """

    requests: Workload
    recorded: Trace | None = None
    shared: Trace | None = None
    observed_rps: float | None = None


def read_workload(entry: Located, folder: Path) -> AskedWorkload:
    """Paths are relative to `folder`."""
    keys = entry.mapping((*KINDS, "source", "scaled_to"))
    kinds = [kind for kind in KINDS if kind in keys]
    if len(kinds) != 1:
        raise entry.bad(_("either a trace or lengths, or a file that describes a workload"))
    item = keys[kinds[0]]
    read = {"trace": _trace, "lengths": _lengths, "file": _file}[kinds[0]]
    found = read(item, folder)
    if "scaled_to" in keys:
        found = _scaled(found, keys["scaled_to"])
    return _named(found, keys["source"].text()) if "source" in keys else found


def _scaled(found: AskedWorkload, entry: Located) -> AskedWorkload:
    """Every length by one factor for prompts and one for outputs, so that their means are these; the spread stays.

    What prompts share is no longer known then.
    """
    keys = entry.mapping(("prompt", "output"), ("prompt", "output"))
    allowed = _("a mean number of tokens, from 1 to 1,000,000")
    prompt, output = (keys[key].number(allowed, 1, 1_000_000) for key in ("prompt", "output"))
    work = found.requests
    note = _("lengths scaled to means of {prompt:g} prompt and {output:g} output tokens").format(
        prompt=prompt, output=output
    )
    scaled = replace(
        work,
        prompt_tokens=_with_mean(work.prompt_tokens, prompt),
        output_tokens=_with_mean(work.output_tokens, output),
        notes=(*work.notes, note),
    )
    return replace(found, requests=scaled, shared=None)


def _with_mean(tokens: Ints, mean: float) -> Ints:
    import numpy as np

    return np.asarray(np.maximum(1, np.rint(tokens * (mean / tokens.mean()))), dtype=np.int64)


def _named(found: AskedWorkload, text: str) -> AskedWorkload:
    source = found.requests.source
    named = replace(source, text=f"{source.text}: {text}")
    return replace(found, requests=replace(found.requests, source=named))


def _trace(entry: Located, folder: Path) -> AskedWorkload:
    name = entry.path_text()
    trace, requests = entry.at(lambda: read_both(folder / name, entry.path))
    return AskedWorkload(requests, trace if trace.span_s > 0 else None, _shared(trace))


def _shared(trace: Trace) -> Trace | None:
    """The answered rows of a trace, where a block of a prompt is that of another one too."""
    import numpy as np

    if trace.blocks is None:
        return None
    kept = trace.taken(np.flatnonzero(trace.answered))
    ids = kept.blocks.ids if kept.blocks else np.empty(0, np.int64)
    return kept if len(np.unique(ids)) < len(ids) else None


def _lengths(entry: Located, _folder: Path) -> AskedWorkload:
    entry.mapping(("prompt", "output"), ("prompt", "output"))
    return AskedWorkload(entry.at(lambda: described_workload(entry.plain(), entry.path)))


def _file(entry: Located, folder: Path) -> AskedWorkload:
    """A service file as `bide workload observe` writes it, or a workload file as `bide workload sample` reads it."""
    path = folder / entry.path_text()
    root = _inside(entry, lambda: read_yaml(path, "workload file"))
    observed = isinstance(root.value, dict) and "services" in root.value
    found = _inside(entry, lambda: _observed(root, path.parent) if observed else _described(root, path))
    return _named(found, path.name)


def _observed(root: Located, folder: Path) -> AskedWorkload:
    """The workload of a service file with one service, and the peak that it states."""
    services = list(root.value["services"].items())
    if len(services) != 1 or not isinstance(services[0].value, dict):
        raise root.value["services"].bad(_("one service"))
    keys = services[0].value
    if "workload" not in keys:
        raise services[0].bad(_("a service with a workload"))
    workload = keys["workload"]
    if isinstance(workload.value, dict) and "file" in workload.value:
        raise workload.bad(_("a trace or lengths: not a further file"))
    traffic = keys["traffic"].value if "traffic" in keys else None
    peak = traffic.get("peak_rps") if isinstance(traffic, dict) else None
    rps = peak.number(_("requests per second, above 0 and up to 1,000,000"), *_RATE) if peak else None
    return replace(read_workload(workload, folder), observed_rps=rps)


def _described(root: Located, path: Path) -> AskedWorkload:
    """Requests drawn from a model of lengths, sessions and shared prompts."""
    from bide.workload.modelling.description import model_from
    from bide.workload.modelling.model import ClosedLoop, sample

    content = root.plain()
    if not isinstance(content, dict):
        raise root.bad(_("a mapping with lengths, a trace or sessions"))
    if "lengths" in content and "arrivals" not in content:
        content["arrivals"] = {"rps": 1.0}  # no arrivals, so Poisson; the rate is that of the service's traffic
    model = model_from(content, path.parent, path.name)
    if isinstance(model.arrivals, ClosedLoop):
        raise BadInput("arrivals.kind", "closed", _("arrivals with a rate: that of a closed loop is the server's"))
    trace = sample(model, DRAWS, SEED)
    return AskedWorkload(trace.workload("workload"), None, _shared(trace))


def _inside(entry: Located, read: Callable[[], _Value]) -> _Value:
    """What `read` gives; its error, which is of the file that `entry` names, at `entry`."""
    try:
        return read()
    except BadInput as error:
        inside = " ".join(filter(None, (error.field, error.hint)))
        hint = _("in {file}: {inside}; the file is named here").format(file=entry.value, inside=inside)
        raise BadInput(entry.path, error.given, error.allowed, f"{hint} {entry.where}".strip()) from error
