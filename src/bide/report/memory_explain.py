"""`bide memory --explain`: each figure's arithmetic in full, as one would check it by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch

from bide.facts.kv_formats import kv_format
from bide.facts.layers import (
    ChunkedAttention,
    CompressedAttention,
    CrossAttention,
    FullAttention,
    KeyIndex,
    KvFormat,
    LatentAttention,
    RecurrentState,
    SlidingWindow,
    heads_per_rank,
)
from bide.facts.model import Component, Part, Tensor
from bide.i18n import _, ngettext, numeral
from bide.physics.blocks import BlockPool, Pool
from bide.physics.kv import cached_groups
from bide.physics.memory import Memory
from bide.plan.tenants import Need, shared_gpus
from bide.report.memory_text import count
from bide.units import GIB, format_bytes, format_gib


def explained(memory: Memory, context_tokens: int) -> Iterator[str]:
    """Lines: cache per token, request, weights, pool, requests at once."""
    yield _("Arithmetic (one GPU unless said otherwise)")
    for lines in explained_parts(memory, context_tokens).values():
        yield from lines


def explained_parts(memory: Memory, context_tokens: int) -> dict[str, list[str]]:
    """The same by figure: `cache`, `weights`, `pool`, `request`, `requests`."""
    return {
        "cache": list(_cache(memory)),
        "weights": list(_weights(memory)),
        "pool": list(_pool(memory)),
        "request": list(_request(memory.pool, context_tokens)),
        "requests": list(_requests(memory, context_tokens)),
    }


def explained_count(memory: Memory, tokens: int) -> list[str]:
    """How many requests of so many tokens fit: what one holds, and the division."""
    return [*_request(memory.pool, tokens), *_requests(memory, tokens)]


def explained_services(needs: Sequence[Need], memory: Memory) -> list[str]:
    """How many GPUs several services take together: the share of a replica that each fills, added up."""
    lines = [
        _("{name}: {users:,} users / {fit} that fit on a replica = {replicas:.2f}").format(
            name=need.tenant.name, users=need.tenant.users, fit=count(need.users_that_fit), replicas=need.replicas
        )
        for need in needs
        if need.gpus
    ]
    gpus = shared_gpus(memory, needs)
    if gpus is not None:
        text = ngettext(
            "together {replicas:.2f} replicas, rounded up: {n:,} GPU",
            "together {replicas:.2f} replicas, rounded up: {n:,} GPUs",
            gpus,
        )
        lines.append(text.format(replicas=sum(need.replicas for need in needs), n=gpus))
    return lines


def _cache(memory: Memory) -> Iterator[str]:
    deployment = memory.deployment
    kv, tp = kv_format(deployment.kv_dtype, deployment.model), deployment.attention_tp
    yield _("cache, {kind} = {bytes:g} bytes an element:").format(kind=kv.name, bytes=kv.bytes_per_element)
    for group in cached_groups(deployment.model, deployment.speculative_tokens):
        yield "  " + arithmetic(group, kv, tp)
    if deployment.pp > 1:
        yield _("  each of the {pp} pipeline stages holds its own layers only").format(pp=deployment.pp)


@singledispatch
def arithmetic(group: object, kv: KvFormat, tp: int) -> str:
    """One group's bytes as factors. Raises TypeError for a group that nobody explains."""
    raise TypeError(type(group).__name__)


def _heads(group: FullAttention | SlidingWindow | ChunkedAttention | CrossAttention, kv: KvFormat, tp: int) -> str:
    heads = heads_per_rank(group.kv_heads, tp)
    dims = f"({group.head_dim_k} + {group.head_dim_v})"
    if group.head_dim_k == group.head_dim_v:
        dims = f"2 x {group.head_dim_k}"
    scale = 2 * kv.scale_bytes_per_token_head
    scales = _(" + {size:g} B of scales").format(size=scale) if scale else ""
    divided = _(" ({heads} over TP {tp})").format(heads=group.kv_heads, tp=tp) if tp > 1 else ""
    total = len(group.layers) * group.layer_bytes_per_token(kv, tp)
    text = _("{layers} layers x {heads} KV heads{divided} x ({dims} x {size:g} B{scales}) = {total:,.0f} B a token")
    return text.format(
        layers=len(group.layers),
        heads=heads,
        divided=divided,
        dims=dims,
        size=kv.bytes_per_element,
        scales=scales,
        total=total,
    )


@arithmetic.register
def _full(group: FullAttention, kv: KvFormat, tp: int) -> str:
    return _("full attention: ") + _heads(group, kv, tp)


@arithmetic.register
def _sliding(group: SlidingWindow, kv: KvFormat, tp: int) -> str:
    return _("sliding window, last {n:,} tokens: ").format(n=group.window_tokens) + _heads(group, kv, tp)


@arithmetic.register
def _chunked(group: ChunkedAttention, kv: KvFormat, tp: int) -> str:
    return _("chunks of {n:,} tokens: ").format(n=group.chunk_tokens) + _heads(group, kv, tp)


@arithmetic.register
def _cross(group: CrossAttention, kv: KvFormat, tp: int) -> str:
    return _("cross-attention to {n:,} encoder tokens: ").format(n=group.encoder_tokens) + _heads(group, kv, tp)


@arithmetic.register
def _latent(group: LatentAttention, kv: KvFormat, tp: int) -> str:
    each = group.layer_bytes_per_token(kv, tp)
    text = _("latent (MLA, one vector, not doubled, on every rank): {layers} layers x {how} = {total:,.0f} B a token")
    how = f"({group.latent_dim} + {group.rope_dim}) x {numeral(kv.bytes_per_element, 'g')} B"
    if each != (group.latent_dim + group.rope_dim) * kv.bytes_per_element:
        how = f"{numeral(each, 'g')} B"
    return text.format(layers=len(group.layers), how=how, total=len(group.layers) * each)


@arithmetic.register
def _index(group: KeyIndex, kv: KvFormat, tp: int) -> str:
    text = _("index keys: {layers} layers x {size:g} B / {tokens} tokens = {total:,.1f} B a token")
    total = len(group.layers) * group.layer_bytes_per_token(kv, tp)
    return text.format(layers=len(group.layers), size=group.key_bytes, tokens=group.tokens_per_key, total=total)


@arithmetic.register
def _compressed(group: CompressedAttention, kv: KvFormat, tp: int) -> str:
    cost = group.cost(kv, tp)
    text = _(
        "compressed: {layers} layers x {size} B / {per} tokens = {growing:,.1f} B a token; "
        "+ {size} B for each of the last {window} tokens; + {fixed} a request"
    )
    return text.format(
        layers=len(group.layers),
        size=group.state_bytes,
        per=group.tokens_per_state or "-",
        growing=cost.growing_bytes_per_token,
        window=group.window_tokens,
        fixed=format_bytes(cost.fixed_bytes_per_request),
    )


@arithmetic.register
def _state(group: RecurrentState, kv: KvFormat, tp: int) -> str:
    channels = group.conv_channels + group.groups * group.group_channels
    text = _(
        "{kind} state: {layers} layers x ({channels:,} x {length} of {conv} + {elements:,} of {state}) / TP {tp} "
        "= {total} a request"
    )
    return text.format(
        kind=group.kind,
        layers=len(group.layers),
        channels=channels,
        length=group.conv_length,
        conv=group.conv_dtype,
        elements=group.state_elements,
        state=group.state_dtype,
        tp=tp,
        total=format_bytes(len(group.layers) * group.layer_bytes(tp)),
    )


def _weights(memory: Memory) -> Iterator[str]:
    weights, worst = memory.weights, memory.rank.worst
    yield _("weights: {n:,} parameters = {size:,} bytes = {gib} GiB").format(
        n=weights.parameters, size=weights.size_bytes, gib=format_gib(weights.size_bytes)
    )
    for share in weights.shares:
        where = "" if share.part == "text" else f" ({share.part})"
        shapes = "; ".join(_shapes(memory.deployment.model.tensors, share.component, share.part))
        held = f"{numeral(share.parameters, ',')} = {format_gib(share.size_bytes)} GiB"
        yield f"  {share.component}{where}: {held}: {shapes}"
    yield _("  on one GPU: {gib} GiB of tensors").format(gib=format_gib(worst.tensors_bytes))
    for extra in worst.extras:
        yield f"  + {format_gib(extra.size_bytes)} GiB: {extra.name}"


def _shapes(tensors: Iterable[Tensor], component: Component, part: Part) -> Iterator[str]:
    """The matrices of a component, those that are there equally often together."""
    alike: dict[int, list[str]] = {}
    for tensor in tensors:
        if (tensor.component, tensor.part) == (component, part):
            shape = (
                f"{numeral(tensor.rows, ',')} x {numeral(tensor.cols, ',')}"
                if tensor.cols > 1
                else numeral(tensor.rows, ",")
            )
            alike.setdefault(tensor.count, []).append(f"{tensor.module.rsplit('.', 1)[-1]} {shape}")
    for number, shapes in alike.items():
        yield f"{numeral(number, ',')} x ({' + '.join(shapes)})"


def _pool(memory: Memory) -> Iterator[str]:
    if memory.size is None:
        yield _("pool: given, {gib} GiB").format(gib=format_gib(memory.pool_bytes.mid))
        return
    ledger, terms = memory.size.ledger, memory.size.terms
    for name, term in (
        (_("activations"), terms.activation),
        (_("runtime"), terms.runtime),
        (_("graphs"), terms.graphs),
    ):
        spread = numeral(term.sigma_bytes / GIB, ".2f")
        yield _("{name}: {how} = {gib} GiB (standard deviation {spread})").format(
            name=name, how=term.how, gib=format_gib(term.size_bytes), spread=spread
        )
    if memory.deployment.engine.memory.rows:
        yield _("  fitted to: {rows}").format(rows=memory.deployment.engine.memory.rows)
    parts = [f"{format_gib(size)} {name}" for name, size in ledger.entries() if name != "pool"]
    yield _("pool: {total} - {parts} = {pool} GiB").format(
        total=format_gib(ledger.total_bytes), parts=" - ".join(parts), pool=format_gib(ledger.pool_bytes)
    )
    if memory.fits:
        text = _("  from {low} to {high} GiB, 9 times in 10: 1.645 standard deviations away on either side")
        yield text.format(low=format_gib(memory.pool_bytes.low), high=format_gib(memory.pool_bytes.high))


def _request(pool: Pool, context_tokens: int) -> Iterator[str]:
    """What one request holds of a pool that is cut into blocks."""
    if not isinstance(pool, BlockPool):
        return
    yield _("a request of {context:,} tokens: {blocks:,} blocks x {block} = {size}").format(
        context=context_tokens,
        blocks=pool.request_blocks(context_tokens),
        block=format_bytes(pool.bytes_per_block),
        size=format_bytes(pool.request_bytes(context_tokens)),
    )
    yield from _tables(pool, context_tokens)
    if any(group.members[0].spec.kind in ("window", "chunk") for group in pool.groups):
        yield _("  (local layers reserve their window and {n:,} tokens in flight)").format(n=pool.in_flight_tokens)


def _requests(memory: Memory, context_tokens: int) -> Iterator[str]:
    pool = memory.pool
    if not isinstance(pool, BlockPool):
        text = _("slots: {tokens:,} tokens; {context:,} tokens hold {size}: {n} requests")
        size = format_bytes(pool.request_bytes(context_tokens))
        requests = count(pool.requests(context_tokens))
        yield text.format(tokens=pool.tokens, context=context_tokens, size=size, n=requests)
        yield from _groups(memory, context_tokens)
        return
    yield _("blocks: {pool} GiB / {block} a block = {n:,} blocks (one is the null block)").format(
        pool=format_gib(memory.pool_bytes.mid), block=format_bytes(pool.bytes_per_block), n=pool.num_blocks
    )
    yield _("requests of {context:,}: {n:,} blocks / {each:,} = {requests:.2f}").format(
        context=context_tokens,
        n=pool.num_blocks,
        each=pool.request_blocks(context_tokens),
        requests=pool.requests(context_tokens),
    )
    yield from _groups(memory, context_tokens)


def _groups(memory: Memory, context_tokens: int) -> Iterator[str]:
    """All data-parallel groups of a replica together, where there are several."""
    dp = memory.deployment.dp
    if dp > 1:
        requests = memory.replica_requests(context_tokens).mid
        yield _("  x {dp} data-parallel groups = {requests:.2f}").format(dp=dp, requests=requests)


def _tables(pool: BlockPool, context_tokens: int) -> Iterator[str]:
    """The block tables, equal ones together."""
    alike = Counter(
        (group.members[0].spec.kind, group.block_tokens, group.blocks(context_tokens, pool.in_flight_tokens))
        for group in pool.groups
    )
    for (kind, tokens, blocks), number in alike.items():
        text = _("  {number} x block table ({kind}, {tokens:,} tokens a block): {blocks:,} blocks a request")
        yield text.format(number=number, kind=kind, tokens=tokens, blocks=blocks)
