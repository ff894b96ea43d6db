"""ServeGen: clients described by their rates and lengths, window by window; requests are drawn from them.

`chunk-N-trace.csv` has a row a window: its start in seconds, requests a second, the coefficient of variation
of the gaps, their distribution and its shape and scale. `chunk-N-dataset.json` has for each longer window the
probability of each length. The aggregate form has one rate a window and quantiles of lengths.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.i18n import _, ngettext
from bide.sourced import Assumption
from bide.workload.arrivals import Gaps, Kind
from bide.workload.reading.asking import Ask
from bide.workload.reading.cells import LARGEST_TOKENS
from bide.workload.reading.files import File
from bide.workload.reading.raw import Raw
from bide.workload.reading.report import Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Lengths = Callable[[int, np.random.Generator], tuple[Ints, Ints]]

CLIENT = re.compile(r"chunk-(\d+)-(?:trace\.csv|dataset\.json)$")
_TEXT = ("input_tokens", "text_tokens")
_OTHERS = ("image", "audio", "video")
_PARTS = (*_TEXT, "output_tokens", *(f"{other}_{what}" for other in _OTHERS for what in ("tokens", "count")))
"""What a request's lengths are made of; other distributions, such as `reason_ratio`, are not read."""
_KINDS: Mapping[str, Kind] = {"gamma": "gamma", "weibull": "weibull"}


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a client's traffic: Poisson-like gaps of a shape, or none where `rps` is 0."""

    start_s: float
    rps: float
    gaps: Gaps


@dataclass(frozen=True, slots=True)
class Client:
    """`lengths` are the distributions from their start on, each of named parts of a request."""

    windows: tuple[Window, ...]
    lengths: Mapping[float, Mapping[str, Mapping[int, float]]]


def read_clients(files: Sequence[File], ask: Ask, field: str) -> Raw:
    """Requests of all clients whose files are given (either of the two names its client), drawn."""
    stems = sorted({(file.path.parent, file.path.name.rsplit("-", 1)[0]) for file in files})
    clients = [_client(folder, stem, field) for folder, stem in stems]
    windows = [window for client in clients for window in client.windows]
    width = _width([window.start_s for window in windows], field)
    rates: dict[float, float] = {}
    for window in windows:
        rates[window.start_s] = rates.get(window.start_s, 0.0) + window.rps
    starts = _busiest(rates, width, ask.requests)
    raw = _drawn([(_within(c.windows, starts), _client_lengths(c)) for c in clients], width, starts, rates, ask)
    per_image = Assumption(_("image, audio and video tokens"), _("of one each"), _("times the number of them"))
    mixed = any("text_tokens" in parts for client in clients for parts in client.lengths.values())
    return raw(len(stems), (per_image,) if mixed else ())


def _client(folder: Path, stem: str, field: str) -> Client:
    trace, dataset = folder / f"{stem}-trace.csv", folder / f"{stem}-dataset.json"
    for path in (trace, dataset):
        if not path.is_file():
            raise BadInput(field, str(path), _("both files of a client, side by side"))
    try:
        with trace.open(encoding="utf-8", newline="") as rows:
            windows = tuple(_window(row) for row in csv.reader(rows) if row)
        lengths = {
            float(start): {part: found for part in _PARTS if (found := _probabilities(parts.get(part) or "{}"))}
            for start, parts in json.loads(dataset.read_text(encoding="utf-8")).items()
        }
    except (ValueError, IndexError, SyntaxError, AttributeError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(field, f"{stem}", _("a client as ServeGen writes it"), str(error)[:100]) from error
    return Client(windows, lengths)


def _window(row: Sequence[str]) -> Window:
    """`7200,12.4,3.6,Weibull,0.306,0.0065`; the scale is not used, because the rate says it better."""
    rps = _rate(row[1])
    kind = _KINDS.get(row[3].lower()) if rps > 0 else None
    gaps = Gaps(kind, _within_limits(float(row[4]), 1e-3, 1e6)) if kind else Gaps("exponential")
    return Window(_within_limits(float(row[0]), 0, 1e10), rps, gaps)


def _rate(given: object) -> float:
    return _within_limits(float(given), 0, 1e9)  # type: ignore[arg-type]  # a TypeError is what the caller looks for


def _within_limits(value: float, low: float, high: float) -> float:
    """`value`. Raises ValueError for one that is not within, NaN among them."""
    if not low <= value <= high:
        raise ValueError(f"{value:g} is not from {low:g} to {high:g}")
    return value


def _probabilities(text: str) -> dict[int, float]:
    """`{12: 0.25, 900: 0.75}`: lengths and how likely they are; `{}` where there was no request. Raises ValueError."""
    given = ast.literal_eval(text)
    found = {int(tokens): _within_limits(float(share), 0, 1e9) for tokens, share in given.items()}
    if not found:
        return found
    if not sum(found.values()) or not 0 <= min(found) <= max(found) <= LARGEST_TOKENS:
        raise ValueError("lengths of which none is likely, or that are none")
    return found


def _width(starts: Iterable[float], field: str) -> float:
    ordered = sorted(set(starts))
    if len(ordered) < 2:
        raise BadInput(field, len(ordered), _("two windows of rates or more"))
    return min(after - before for before, after in pairwise(ordered))


def _busiest(rates: Mapping[float, float], width: float, requests: int) -> list[float]:
    """Neighbouring windows around the busiest, as many as give the requests on average; all where they do not."""
    ordered = sorted(rates)
    first = last = max(range(len(ordered)), key=lambda i: rates[ordered[i]])
    expected = rates[ordered[first]] * width
    while expected < requests and (first > 0 or last + 1 < len(ordered)):
        before = rates[ordered[first - 1]] if first > 0 else -1.0
        after = rates[ordered[last + 1]] if last + 1 < len(ordered) else -1.0
        first, last = (first - 1, last) if before > after else (first, last + 1)
        expected += max(before, after) * width
    return ordered[first : last + 1]


def _within(windows: Sequence[Window], starts: Sequence[float]) -> list[Window]:
    return [window for window in windows if starts[0] <= window.start_s <= starts[-1] and window.rps > 0]


def _drawn(
    sources: Sequence[tuple[Sequence[Window], Callable[[float], Lengths | None]]],
    width: float,
    starts: Sequence[float],
    rates: Mapping[float, float],
    ask: Ask,
) -> Callable[[int, tuple[Assumption, ...]], Raw]:
    """The requests of every window of every source, up to the number asked for."""
    import numpy as np

    rng = np.random.default_rng(ask.seed)
    times, prompts, outputs = [np.empty(0)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for windows, lengths_at in sources:
        for window in windows:
            lengths = lengths_at(window.start_s)
            if lengths is None:
                continue
            arrived = window.start_s + _arrivals(window, width, ask.requests, rng)
            prompt, output = lengths(len(arrived), rng)
            times.append(arrived)
            prompts.append(prompt)
            outputs.append(output)
    time_s, prompt, output = np.concatenate(times), np.concatenate(prompts), np.concatenate(outputs)
    first = np.argsort(time_s, kind="stable")[: ask.requests]
    kept = first[prompt[first] > 0]

    def raw(clients: int, assumptions: tuple[Assumption, ...]) -> Raw:
        return Raw(
            len(kept),
            prompt[kept],
            output[kept],
            time_s[kept],
            columns={"time": "rates", "prompt": "lengths", "output": "lengths"},
            findings=(_finding(clients, starts, width, rates, len(kept)),),
            assumptions=assumptions,
            made=True,
        )

    return raw


def _finding(clients: int, starts: Sequence[float], width: float, rates: Mapping[float, float], drawn: int) -> Finding:
    span_h, whole_h = (len(starts) * width / 3600, len(rates) * width / 3600)
    mean, peak = sum(rates.values()) / len(rates), max(rates.values())
    whose = (
        ngettext("{clients:,} client", "{clients:,} clients", clients).format(clients=clients)
        if clients > 1
        else _("all clients together")
    )
    text = _(
        "rates and lengths of {whose}, not requests: {drawn:,} were drawn from the busiest "
        "{span:.3g} of {whole:.3g} hours; over all of them {mean:.3g} requests/s, {peak:.3g} in the busiest {width:g} s"
    ).format(whose=whose, drawn=drawn, span=span_h, whole=whole_h, mean=mean, peak=peak, width=width)
    values = {"clients": clients, "window_s": width, "windows": len(rates), "mean_rps": mean, "peak_window_rps": peak}
    return Finding("drawn", text, values)


def _arrivals(window: Window, width: float, most: int, rng: np.random.Generator) -> Floats:
    """Arrivals in one window, from its beginning; not all where they are more than `most`, which are enough."""
    import numpy as np

    expected = window.rps * width
    times = np.empty(0)
    while len(times) < most and (not len(times) or times[-1] < expected):
        more = np.cumsum(window.gaps.draw(min(most, round(expected + 4 * expected**0.5)) + 16, rng))
        times = np.concatenate((times, (times[-1] if len(times) else 0.0) + more))
    return times[times < expected] / window.rps


def _client_lengths(client: Client) -> Callable[[float], Lengths | None]:
    usable = {
        start: parts
        for start, parts in client.lengths.items()
        if "output_tokens" in parts and any(parts.get(t, {0: 1}) != {0: 1.0} for t in _TEXT)
    }

    def at(start_s: float) -> Lengths | None:
        """The distribution that holds then; that of the nearest other time where there is none."""
        if not usable:
            return None
        begun = [start for start in usable if start <= start_s]
        return _of_parts(usable[max(begun) if begun else min(usable)])

    return at


def _of_parts(parts: Mapping[str, Mapping[int, float]]) -> Lengths:
    def draw(count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        prompt = _choose(next(parts[text] for text in _TEXT if text in parts), count, rng)
        for other in _OTHERS:
            if f"{other}_tokens" in parts:
                many = _choose(parts.get(f"{other}_count", {1: 1.0}), count, rng)
                prompt = prompt + many * _choose(parts[f"{other}_tokens"], count, rng)
        return prompt, _choose(parts["output_tokens"], count, rng)

    return draw


def _choose(probabilities: Mapping[int, float], count: int, rng: np.random.Generator) -> Ints:
    import numpy as np

    values = np.array(list(probabilities), np.int64)
    weights = np.array(list(probabilities.values()))
    where = np.minimum(np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(count)), len(values) - 1)
    return np.asarray(values[where])


def read_aggregate(files: Sequence[File], ask: Ask, field: str) -> Raw:
    """Requests from one rate a window and quantiles of lengths over all clients, drawn as Poisson arrivals."""
    if len(files) != 1:
        raise BadInput(field, len(files), _("one aggregate at a time"))
    try:
        with files[0].text() as text:
            document = json.load(text)
        width = _within_limits(float(document["window_s"]), 1e-3, 1e8)
        first = _within_limits(float(document["start_ts"]), 0, 1e10)
        rates = {first + i * width: _rate(rate) for i, rate in enumerate(document["rate_rps"])}
        _within_limits(max(rates.values()), 1e-9, 1e9)
        lengths = _of_quantiles({name: _quantiles(table) for name, table in document["length_quantiles"].items()})
    except (ValueError, KeyError, TypeError, StopIteration, RecursionError) as error:
        raise BadInput(
            field, str(files[0].path), _("rate_rps a window and length_quantiles"), str(error)[:100]
        ) from error
    starts = _busiest(rates, width, ask.requests)
    windows = [Window(start, rates[start], Gaps("exponential")) for start in starts]
    apart = Assumption(_("prompt and output lengths"), _("independent"), _("only their own distributions are given"))
    poisson = Assumption(_("arrivals"), _("Poisson within a window"), _("only the rate of each window is given"))
    return _drawn([(windows, lambda _start: lengths)], width, starts, rates, ask)(1, (apart, poisson))


def _quantiles(table: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Shares and the lengths that they stay below. Raises ValueError for what is no such table."""
    shares, lengths = [float(q) for q in table["q"]], [float(value) for value in table["value"]]
    if len(shares) != len(lengths) or not shares or shares != sorted(shares):
        raise ValueError("q and value of different lengths, or q not rising")
    return shares, [_within_limits(length, 0, LARGEST_TOKENS) for length in lengths]


def _of_quantiles(quantiles: Mapping[str, tuple[Any, Any]]) -> Lengths:
    text = next((quantiles[name] for name in _TEXT if name in quantiles), None)
    if text is None:
        raise ValueError("no input_tokens")
    output = quantiles["output_tokens"]
    image, images = quantiles.get("image_tokens"), quantiles.get("image_count")

    def of(table: tuple[Any, Any], count: int, rng: np.random.Generator) -> Ints:
        import numpy as np

        return np.asarray(np.rint(np.interp(rng.random(count), table[0], table[1])), np.int64)

    def draw(count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        prompt = of(text, count, rng)
        if image and images:
            prompt = prompt + of(image, count, rng) * of(images, count, rng)
        return prompt, of(output, count, rng)

    return draw
