"""The memory answer in words and rows, for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bide.i18n import _
from bide.physics.memory import Memory, cautions
from bide.plan.levers import Lever, replica_requests
from bide.plan.tenants import Need, shared_gpus
from bide.sourced import Assumption
from bide.units import GB, GIB, format_bytes, format_gib

_BAR_CELLS = 48
_PARTS = (
    ("weights_bytes", "#"),
    ("activation_bytes", "a"),
    ("runtime_bytes", "r"),
    ("graph_bytes", "g"),
    ("pool_bytes", "="),
    ("unused_bytes", "."),
)


def sentence(memory: Memory, context_tokens: int) -> str:
    """The answer: how many requests of this context at once, and on what."""
    where = place(memory)
    if not memory.fits:
        return _("{model} does not fit on {where}.").format(model=memory.deployment.model.name, where=where)
    requests = memory.requests(context_tokens).map(lambda n: n * memory.deployment.dp)
    text = _("{requests} requests of {context:,} tokens at once ({low} to {high}): {model} on {where}.")
    return text.format(
        requests=count(requests.mid),
        low=count(requests.low),
        high=count(requests.high),
        context=context_tokens,
        model=memory.deployment.model.name,
        where=where,
    )


def place(memory: Memory) -> str:
    """The hardware and the engine, as one would say it."""
    deployment = memory.deployment
    gpu = deployment.gpu.id if deployment.gpu else _("a pool that was given")
    gpus = deployment.replica_gpus
    split = [f"{k}{v}" for k, v in (("TP", deployment.tp), ("PP", deployment.pp), ("DP", deployment.dp)) if v > 1]
    many = f"{gpus} x {gpu} ({', '.join(split)})" if gpus > 1 else gpu
    return f"{many}, {deployment.engine.name} {deployment.engine.version_text}"


def count(requests: float) -> str:
    """Requests as people read them: whole from 10 on, one decimal below; never rounded up.

    >>> count(197.9), count(3.28), count(1240.0), count(float("inf"))
    ('197', '3.2', '1,240', 'any number')
    """
    if math.isinf(requests):
        return _("any number")
    return f"{math.floor(requests):,}" if requests >= 10 else f"{math.floor(requests * 10) / 10:g}"


def figures(memory: Memory, context_tokens: int) -> Iterator[str]:
    """Per token, per request, weights: a line each."""
    cost, per_gpu = memory.kv.model, memory.kv.per_gpu
    token = format_bytes(cost.growing_bytes_per_token)
    parts = [_("{size} for each token").format(size=token)] if cost.growing_bytes_per_token else []
    for w in cost.windows:
        text = _("{size} for each of the last {tokens:,} tokens")
        parts.append(text.format(size=format_bytes(w.bytes_per_token), tokens=w.window_tokens))
    if cost.fixed_bytes_per_request:
        parts.append(_("{size} for each request").format(size=format_bytes(cost.fixed_bytes_per_request)))
    line = _("Cache    {parts}").format(parts=" + ".join(parts) or _("none"))
    if memory.deployment.replica_gpus > 1:
        line += _("; on each GPU {size} a token").format(size=format_bytes(per_gpu.growing_bytes_per_token))
    yield line
    yield _("Request  {context:,} tokens hold {binary} ({decimal:,.2f} GB) on each GPU, in blocks").format(
        context=context_tokens, **_both(memory.fit(context_tokens).request_bytes)
    )
    weights = memory.weights
    yield _("Weights  {count:,.2f} B parameters, {size} GiB; {held} GiB on each GPU ({kind})").format(
        count=weights.parameters / 1e9,
        size=format_gib(weights.size_bytes),
        held=format_gib(memory.rank.worst.size_bytes),
        kind=scheme_name(memory),
    )
    low, mid, high = (pool.tokens for pool in memory.pools)
    if memory.fits:
        yield _("Pool     {size} GiB on each GPU: the log will say {mid:,} tokens ({low:,} to {high:,})").format(
            size=format_gib(memory.pool_bytes.mid), mid=mid, low=low, high=high
        )


def _both(size_bytes: int) -> dict[str, object]:
    return {"binary": format_bytes(size_bytes), "decimal": size_bytes / GB}


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
    ledger = memory.size.ledger.to_dict()
    total = ledger["total_bytes"]
    title = _("The card  {total} GiB as the engine sees it (the driver reports {driver} GiB)")
    yield title.format(total=format_gib(total), driver=format_gib(memory.deployment.gpu.memory_bytes))
    if all(ledger[part] >= 0 for part, _mark in _PARTS):
        yield "  [" + _bar([(mark, ledger[part] / total) for part, mark in _PARTS]) + "]"
    for part, mark in _PARTS:
        yield f"  {mark} {part_name(part):34} {format_gib(ledger[part]):>8} GiB"
    yield f"    {_('sum'):34} {format_gib(sum(ledger[part] for part, _mark in _PARTS)):>8} GiB"


def _bar(shares: Sequence[tuple[str, float]]) -> str:
    """A bar whose cells sum exactly: each part ends where the running sum does."""
    drawn, reached = "", 0.0
    for mark, share in shares:
        reached += share
        drawn += mark * (round(reached * _BAR_CELLS) - len(drawn))
    return drawn


def part_name(part: str) -> str:
    """A part of the ledger in words."""
    return {
        "weights_bytes": _("weights"),
        "activation_bytes": _("activations at their peak"),
        "runtime_bytes": _("runtime (CUDA, communication)"),
        "graph_bytes": _("CUDA graphs"),
        "pool_bytes": _("pool for the cache"),
        "unused_bytes": _("left free (1 - utilisation)"),
    }[part]


Rows = list[list[str]]


def context_table(memory: Memory, contexts: Sequence[int], mean_tokens: int | None) -> tuple[list[str], Rows]:
    """Requests at once by context: all at that length, and (`mean_tokens`) as many as hold on average."""
    headers = [_("context"), _("one request"), _("requests at once"), _("low"), _("high")]
    groups = memory.deployment.dp
    rows = []
    for tokens in contexts:
        fit = memory.fit(tokens)
        shown = [count(n * groups) if memory.fits else "0" for n in (fit.requests, fit.low_requests, fit.high_requests)]
        rows.append([f"{tokens:,}", format_bytes(fit.request_bytes), *shown])
    if mean_tokens:
        fit = memory.fit(mean_tokens)
        label = _("mean {tokens:,} (paged)").format(tokens=mean_tokens)
        shown = [count(n * groups) for n in (fit.requests, fit.low_requests, fit.high_requests)]
        rows.append([label, format_bytes(fit.request_bytes), *shown])
    return headers, rows


def lever_table(memory: Memory, found: Sequence[Lever], context_tokens: int) -> tuple[list[str], Rows]:
    """The levers, the deployment as asked first."""
    headers = [
        _("lever"),
        _("GPUs"),
        _("requests of {context:,}").format(context=context_tokens),
        _("gives"),
        _("note"),
    ]
    now = replica_requests(memory, context_tokens)
    rows = [[_("as asked"), str(memory.deployment.replica_gpus), count(now), "", ""]]
    for lever in found:
        requests = count(lever.requests) if lever.requests is not None else "0"
        gives = f"{lever.factor:.2f} x" if lever.factor is not None else ""
        rows.append([lever.name, str(lever.gpus), requests, gives, lever.note])
    return headers, rows


def tenant_table(memory: Memory, found: Sequence[Need]) -> tuple[list[str], Rows, str]:
    """The services: bytes a user, users that fit, GPUs; and the sentence on sharing."""
    headers = [
        _("service"),
        _("tokens"),
        _("users"),
        _("one user"),
        _("all users"),
        _("fit on one replica"),
        _("GPUs needed"),
    ]
    rows = [
        [
            need.tenant.name,
            f"{need.tenant.tokens:,}",
            f"{need.tenant.users:,}",
            f"{format_bytes(need.bytes_per_user)} ({need.bytes_per_user / GB:.2g} GB)",
            f"{need.bytes_per_user * need.tenant.users / GIB:,.1f} GiB",
            count(need.users_that_fit),
            str(need.gpus or _("does not fit")),
        ]
        for need in found
    ]
    shared = shared_gpus(memory, found)
    if shared is None:
        return headers, rows, _("One of the services does not fit on such a replica at all.")
    text = _("On the same replicas all of them need {gpus} GPUs; memory alone, latency may ask for more (`bide plan`).")
    return headers, rows, text.format(gpus=shared)


def _by_reason(assumptions: Sequence[Assumption]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for assumed in assumptions:
        found.setdefault(assumed.why, []).append(f"{assumed.name} = {assumed.value}")
    return found


def endnotes(memory: Memory) -> Iterator[str]:
    """Warnings, assumptions and sources."""
    for text in cautions(memory):
        yield _("Note: {text}").format(text=text)
    for why, items in _by_reason(memory.deployment.assumptions).items():
        yield _("Assumed: {items} ({why})").format(items=", ".join(items), why=why)
    yield _("Model: {source}").format(source=memory.deployment.model.source)
    gpu = memory.deployment.gpu
    if gpu:
        yield _("Card: {source}").format(source=gpu.sources["usable"])
