"""What a trace should be warned of: failures, caps, ticks, order, duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bide.i18n import _, ngettext
from bide.workload.reading.report import Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_SPIKE_SHARE = 0.005
_SPIKE_TIMES = 10.0
_BEYOND_SHARE = 0.01
_FEWEST = 100


def zero_outputs(output_tokens: Ints) -> list[Finding]:
    """Requests that were not answered: kept as load, left out of the lengths."""
    count = int((output_tokens == 0).sum())
    if not count:
        return []
    if count == len(output_tokens):
        return [Finding("no_outputs", _("no output lengths are recorded"))]
    share = count / len(output_tokens)
    text = ngettext(
        "{count:,} request without output ({share:.1%}), a failure or rejection: kept as load, not among the lengths",
        "{count:,} requests without output ({share:.1%}), failures or rejections: kept as load, not among the lengths",
        count,
    ).format(count=count, share=share)
    return [Finding("zero_outputs", text, {"count": count, "share": share})]


def caps(tokens: Ints, name: str) -> list[Finding]:
    """Spikes at a limit: one length far more frequent than those just below it, with next to nothing above.

    At least 0.5 % of the requests and at most half, 10 times as many as the lengths in the fifth below it have on
    average (were that even), and at most 1 % beyond.
    """
    import numpy as np

    if len(tokens) < _FEWEST:
        return []
    values, counts = np.unique(tokens, return_counts=True)
    total = int(counts.sum())
    beyond = total - np.cumsum(counts)
    spikes = (counts >= max(10, _SPIKE_SHARE * total)) & (counts <= total / 2)
    likely = np.flatnonzero(spikes & (beyond <= _BEYOND_SHARE * total))
    found = []
    for i in likely.tolist():
        below = (values >= 0.8 * values[i]) & (values < values[i])
        even = counts[below].sum() / max(1.0, 0.2 * float(values[i]))
        if counts[i] >= _SPIKE_TIMES * max(even, 1.0):
            found.append(_cap(name, int(values[i]), int(counts[i]), total))
    return found


def _cap(name: str, tokens: int, count: int, total: int) -> Finding:
    text = _(
        "{count:,} {name} lengths ({share:.1%}) are {tokens:,} tokens: a cap, longer ones were cut off there"
    ).format(count=count, name=name, share=count / total, tokens=tokens)
    return Finding("cap", text, {"of": name, "tokens": tokens, "count": count, "share": count / total})


def unsorted(time_s: Floats) -> list[Finding]:
    """Rows that come after a later one."""
    late = int((time_s[1:] < time_s[:-1]).sum())
    if not late:
        return []
    text = ngettext(
        "{count:,} row comes after a later one: sorted by time",
        "{count:,} rows come after a later one: sorted by time",
        late,
    ).format(count=late)
    return [Finding("unsorted", text, {"count": late})]


def duplicates(time_s: Floats, prompt_tokens: Ints, output_tokens: Ints) -> NDArray[np.bool_]:
    """Rows that equal the row before in time and both lengths; the requests stand in order of time.

    Rows of one time are compared whatever their order is among themselves.
    """
    import numpy as np

    again = np.zeros(len(time_s), bool)
    same_time = np.flatnonzero(time_s[1:] == time_s[:-1])
    rows = np.unique(np.concatenate((same_time, same_time + 1)))
    order = rows[np.lexsort((output_tokens[rows], prompt_tokens[rows], time_s[rows]))]
    before, after = order[:-1], order[1:]
    same = time_s[after] == time_s[before]
    same &= (prompt_tokens[after] == prompt_tokens[before]) & (output_tokens[after] == output_tokens[before])
    again[after[same]] = True
    return again


def tick(tick_s: float | None, requests: int, stamps: int, spread: bool) -> list[Finding]:
    """Time stamps rounded to a coarse clock."""
    if tick_s is None:
        return []
    done = _("spread within it, at random") if spread else _("kept as they are, a herd at every tick")
    text = _("time stamps are rounded to {tick:g} s ({requests:,} requests, {stamps:,} stamps): {done}")
    said = text.format(tick=tick_s, requests=requests, stamps=stamps, done=done)
    return [Finding("tick", said, {"tick_s": tick_s, "stamps": stamps, "spread": spread})]
