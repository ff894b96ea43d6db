"""The memory answer in words and rows, for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bide.facts.layers import Cost
from bide.i18n import _, ngettext, numeral
from bide.physics.cautions import cautions
from bide.physics.memory import Memory
from bide.plan.levers import Lever
from bide.plan.tenants import Need, shared_gpus
from bide.report.ledger import ledger_parts
from bide.report.words import assumption_text, cards, engine_name, listed, place
from bide.sourced import Assumption
from bide.units import GB, GIB, format_bytes, format_gib

_BAR_CELLS = 48
_CONTEXTS = (2048, 8192, 32768, 131072)
_LEVER_CONTEXT = 8192


@dataclass(frozen=True, slots=True)
class MemorySaid:
    """All that a report of the memory answer shows."""

    memory: Memory
    sentence: str
    contexts: Sequence[int]
    context_tokens: int
    """The context that the figures and levers are shown at."""
    levers: Sequence[Lever]
    mean_tokens: int | None = None
    needs: Sequence[Need] = ()


def shown_contexts(memory: Memory) -> list[int]:
    """The contexts to show where nobody asks for others."""
    longest = memory.deployment.max_model_len
    return [tokens for tokens in _CONTEXTS if tokens <= longest] or [longest]


def lever_context(memory: Memory) -> int:
    """The context to show figures and levers at where nobody asks for another."""
    return min(_LEVER_CONTEXT, memory.deployment.max_model_len)


def sentence(memory: Memory, context_tokens: int, mean: bool = False) -> str:
    """The answer: how many requests of this context (`mean`: of this mean length) at once, and on what."""
    model, where = memory.deployment.model.name, place(memory.deployment)
    if not memory.fits:
        return _("{model} does not fit on {where}.").format(model=model, where=where)
    requests = memory.replica_requests(context_tokens)
    text = _("{requests} requests of {context:,} tokens at once ({low} to {high}): {model} on {where}.")
    if mean:
        text = _("{requests} requests of {context:,} tokens on average at once ({low} to {high}): {model} on {where}.")
    return text.format(
        requests=count(requests.mid),
        low=count(requests.low),
        high=count(requests.high),
        context=context_tokens,
        model=model,
        where=where,
    )


def tenant_sentence(memory: Memory, found: Sequence[Need]) -> str:
    """The answer where services were named: the GPUs that hold them together."""
    model, where = memory.deployment.model.name, place(memory.deployment)
    gpus = shared_gpus(memory, found)
    if gpus is None:
        return _("Not every service fits: {model} on {where}.").format(model=model, where=where)
    users = listed(
        [
            ngettext("{n:,} user of {name}", "{n:,} users of {name}", need.tenant.users).format(
                n=need.tenant.users, name=need.tenant.name
            )
            for need in found
        ]
    )
    text = _("{gpus} hold {users} at once: {model}, {engine}. Memory alone: latency may ask for more (`bide plan`).")
    return text.format(
        gpus=cards(memory.deployment, gpus), users=users, model=model, engine=engine_name(memory.deployment)
    )


def count(requests: float) -> str:
    """Requests as people read them: whole from 10 on, one decimal below; never rounded up.

    >>> count(197.9), count(3.28), count(1240.0), count(float("inf"))
    ('197', '3.2', '1,240', 'any number')
    """
    if math.isinf(requests):
        return _("any number")
    return numeral(math.floor(requests), ",") if requests >= 10 else numeral(math.floor(requests * 10) / 10, "g")


def figures(memory: Memory, context_tokens: int) -> Iterator[tuple[str, str]]:
    """Per token, per request, weights, pool: a name and a sentence each."""
    yield _("KV cache"), _cache(memory)
    held = memory.fit(context_tokens).request_bytes
    text = _("{context:,} tokens hold {size} on each GPU, in whole blocks")
    yield _("Request"), text.format(context=context_tokens, size=both(held))
    yield _("Weights"), _weights(memory)
    if memory.fits:
        low, mid, high = (pool.tokens for pool in memory.pools)
        text = _("{size} GiB on each GPU: the engine's log will say {mid:,} tokens")
        if high > low:
            text += _(" ({low:,} to {high:,})")
        yield _("Pool"), text.format(size=format_gib(memory.pool_bytes.mid), mid=mid, low=low, high=high)


def _cache(memory: Memory) -> str:
    cost = memory.kv.model
    token = format_bytes(cost.growing_bytes_per_token)
    parts = [_("{size} for each token").format(size=token)] if cost.growing_bytes_per_token else []
    for w in cost.windows:
        text = _("{size} for each of the last {tokens:,} tokens")
        parts.append(text.format(size=format_bytes(w.bytes_per_token), tokens=w.window_tokens))
    if cost.fixed_bytes_per_request:
        parts.append(_("{size} for each request").format(size=format_bytes(cost.fixed_bytes_per_request)))
    text = " + ".join(parts) or _("none")
    return text + (_on_each(memory.kv.per_gpu) if memory.deployment.replica_gpus > 1 else "")


def _on_each(cost: Cost) -> str:
    """The same on one GPU: of a token, within windows where nothing grows beyond, else of a request."""
    in_windows = sum(window.bytes_per_token for window in cost.windows)
    token_bytes = cost.growing_bytes_per_token or in_windows
    if token_bytes:
        return _("; on each GPU {size} a token").format(size=format_bytes(token_bytes))
    if not cost.fixed_bytes_per_request:
        return ""
    return _("; on each GPU {size} a request").format(size=format_bytes(cost.fixed_bytes_per_request))


def _weights(memory: Memory) -> str:
    weights = memory.weights
    text = _("{count:,.2f} B parameters, {size} GiB in {kind}; {held} GiB on each GPU").format(
        count=weights.parameters / 1e9,
        size=format_gib(weights.size_bytes),
        kind=scheme_name(memory),
        held=format_gib(memory.rank.worst.size_bytes),
    )
    drafts = sum(share.parameters for share in weights.shares if share.part == "mtp")
    if drafts and not memory.deployment.speculative_tokens:
        left_out = _("; {count:,.2f} B of them predict further tokens (MTP) and are not loaded")
        text += left_out.format(count=drafts / 1e9)
    return text


def both(size_bytes: int) -> str:
    """Bytes in binary and in decimal units, as `1 GiB (1.07 GB)`.

    >>> both(2**30), both(197_132_288)
    ('1 GiB (1.07 GB)', '188 MiB (197 MB)')
    """
    decimal = (
        f"{numeral(size_bytes / GB, ',.2f')} GB" if size_bytes >= GB else f"{numeral(size_bytes / 1e6, ',.0f')} MB"
    )
    return f"{format_bytes(size_bytes)} ({decimal})"


def scheme_name(memory: Memory) -> str:
    """How the weights are stored."""
    deployment = memory.deployment
    if deployment.weights != "auto":
        return deployment.weights
    scheme = deployment.model.quantisation
    return scheme.method if scheme else deployment.model.dtype


def ledger_lines(memory: Memory) -> Iterator[str]:
    """The card as a bar and as a sum, where a card was named."""
    if memory.size is None or memory.deployment.gpu is None:
        return
    parts, total = ledger_parts(memory.size.ledger), memory.size.ledger.total_bytes
    title = _("The card  {total} GiB as the engine sees it (the driver reports {driver} GiB)")
    yield title.format(total=format_gib(total), driver=format_gib(memory.deployment.gpu.memory_bytes))
    if all(part.size_bytes >= 0 for part in parts):
        yield "  [" + _bar([(part.sign, part.size_bytes / total) for part in parts]) + "]"
    widest = max(34, *(len(part.name) for part in parts))
    for part in parts:
        yield f"  {part.sign} {part.name:{widest}} {format_gib(part.size_bytes):>8} GiB"
    yield f"    {_('sum'):{widest}} {format_gib(sum(part.size_bytes for part in parts)):>8} GiB"


def _bar(shares: Sequence[tuple[str, float]]) -> str:
    """A bar whose cells sum exactly: each part ends where the running sum does."""
    drawn, reached = "", 0.0
    for sign, share in shares:
        reached += share
        drawn += sign * (round(reached * _BAR_CELLS) - len(drawn))
    return drawn


Rows = list[list[str]]


def context_table(memory: Memory, contexts: Sequence[int], mean_tokens: int | None) -> tuple[list[str], Rows]:
    """Requests at once by context: all at that length, and (`mean_tokens`) as many as hold on average."""
    headers = [_("context"), _("one request"), _("requests at once"), _("low"), _("high")]
    rows = [_context_row(memory, numeral(tokens, ","), tokens) for tokens in contexts]
    if mean_tokens:
        rows.append(_context_row(memory, _("{tokens:,} on average").format(tokens=mean_tokens), mean_tokens))
    return headers, rows


def _context_row(memory: Memory, label: str, tokens: int) -> list[str]:
    requests = memory.replica_requests(tokens)
    shown = (count(n) for n in (requests.mid, requests.low, requests.high))
    return [label, format_bytes(memory.pool.request_bytes(tokens)), *shown]


def lever_title(context_tokens: int) -> str:
    """What the table of levers counts."""
    return _("What would let more in: requests of {context:,} tokens at once").format(context=context_tokens)


def lever_table(memory: Memory, found: Sequence[Lever], context_tokens: int) -> tuple[list[str], Rows]:
    """The levers, the deployment as asked first."""
    headers = [
        _("lever"),
        _("GPUs"),
        _("requests"),
        _("gives"),
        _("note"),
    ]
    now = memory.replica_requests(context_tokens).mid
    rows = [[_("as asked"), str(memory.deployment.replica_gpus), count(now), "", ""]]
    for lever in found:
        requests = count(lever.requests) if lever.requests is not None else "0"
        gives = f"{numeral(lever.factor, '.2f')} x" if lever.factor is not None else ""
        rows.append([lever.name, str(lever.gpus), requests, gives, lever.note])
    return headers, rows


def tenant_table(found: Sequence[Need]) -> tuple[list[str], Rows]:
    """The services, each on its own: bytes a user, users that fit, GPUs."""
    headers = [_("service"), _("tokens"), _("users"), _("one user"), _("all users"), _("fit on one"), _("GPUs")]
    rows = [
        [
            need.tenant.name,
            numeral(need.tenant.tokens, ","),
            numeral(need.tenant.users, ","),
            both(need.bytes_per_user),
            f"{numeral(need.bytes_per_user * need.tenant.users / GIB, ',.1f')} GiB",
            count(need.users_that_fit),
            str(need.gpus or _("does not fit")),
        ]
        for need in found
    ]
    return headers, rows


def _by_reason(assumptions: Sequence[Assumption]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for assumed in assumptions:
        found.setdefault(assumed.why, []).append(assumption_text(assumed))
    return found


def endnotes(memory: Memory, contexts: Sequence[int] = ()) -> Iterator[str]:
    """Warnings, assumptions and sources."""
    for text in cautions(memory, contexts):
        yield _("Note: {text}").format(text=text)
    for why, items in _by_reason(memory.deployment.assumptions).items():
        yield _("Assumed: {items} ({why})").format(items=", ".join(items), why=why)
    if memory.size:
        yield _("Ranges: 5th to 95th percentile, from the spread of engines' start-up logs around this arithmetic")
    yield _("Source of the model: {source}").format(source=memory.deployment.model.source)
    gpu = memory.deployment.gpu
    if gpu:
        yield _("Source of the card's memory: {source}").format(source=gpu.sources["usable"])
