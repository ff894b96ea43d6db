"""The answer in a sentence or two: the knee of one curve, or the best of several."""

from __future__ import annotations

from collections.abc import Iterator

from bide.i18n import _, numeral
from bide.interval import spanning
from bide.report.curve_names import lengths, load_name
from bide.report.curve_said import STREAMING_TPOT_S, STREAMING_TTFT_S, CurvesSaid, best, headline
from bide.report.words import listed, place, rounded, seconds, span, usd
from bide.simulate.operating import Bound, Curve, Point
from bide.units import format_rate


def sentences(said: CurvesSaid) -> Iterator[str]:
    """The answer: for each mix its one curve, or the best of several for people who read along and for cost."""
    for group in said.groups():
        yield from _alone(said.curves[group[0]]) if len(group) == 1 else _compared(said, group)
    for name, why in said.misfits:
        yield _("Not shown: {name}. {why}.").format(name=name, why=why)


def _alone(curve: Curve) -> Iterator[str]:
    point = headline(curve)
    if point.bound == "unstable":
        text = _("{load} cannot be held: at most {most}, {tokens} output tokens/s per GPU.")
        most = format_rate(point.highest_requests_per_s)
        yield text.format(load=_capital(load_name(point.load)), most=most, tokens=tokens(curve, point))
    else:
        yield _("{load}: {figures}.").format(load=_at(curve, point), figures=_figures(curve, point))
    where = _("{model} on {place}: {lengths}.")
    model, mix = curve.deployment.model.name, lengths(curve.mix)
    where = where.format(model=model, place=place(curve.deployment), lengths=mix)
    yield f"{where} {waits_for(point.bound)}"


def _at(curve: Curve, point: Point) -> str:
    """`At the knee, 32 clients at once`."""
    load = load_name(point.load)
    if point.load.kind == "concurrency":
        load = _("{clients} at once").format(clients=load)
    if point is curve.knee and len(curve.points) > 1:
        return _("At the knee, {load}").format(load=load)
    return _capital(load)


def _compared(said: CurvesSaid, group: list[int]) -> Iterator[str]:
    yield from _best(said, group)
    models = listed(list(dict.fromkeys(said.curves[number].deployment.model.name for number in group)))
    yield _("{models}: {lengths}.").format(models=models, lengths=lengths(said.curves[group[0]].mix))


def _best(said: CurvesSaid, group: list[int]) -> Iterator[str]:
    cheapest = best(said, group, streaming=False)
    streaming = best(said, group, streaming=True)
    if cheapest is None:
        yield _("None of them holds this load.")
    elif cheapest[1].load.kind == "batch":
        yield _("For the least cost: {answer}.").format(answer=_named(said, *cheapest))
    elif streaming == cheapest:
        text = _("For people who read along ({limit}) and for the least cost: {answer}.")
        yield text.format(limit=_streaming(), answer=_named(said, *streaming))
    else:
        if streaming:
            text = _("For people who read along ({limit}): {answer}.")
            yield text.format(limit=_streaming(), answer=_named(said, *streaming))
        else:
            yield _("None of them streams to people who read along ({limit}).").format(limit=_streaming())
        yield _("For the least cost, however long it takes: {answer}.").format(answer=_named(said, *cheapest))


def _streaming() -> str:
    text = _("a first token within {ttft}, then one every {tpot}")
    return text.format(ttft=seconds(STREAMING_TTFT_S), tpot=seconds(STREAMING_TPOT_S))


def _named(said: CurvesSaid, number: int, point: Point) -> str:
    text = _("{name} with {load}: {figures}")
    figures = _figures(said.curves[number], point)
    return text.format(name=said.names[number], load=load_name(point.load), figures=figures)


def _figures(curve: Curve, point: Point) -> str:
    """Speed, work and cost at a point."""
    parts = []
    if point.load.kind == "batch" and point.requests_per_s:
        whole = seconds(point.load.value / point.requests_per_s)
        parts.append(_("done in {time}").format(time=whole))
    if point.tpot_s is not None:
        parts.append(_("a token every {tpot}").format(tpot=spanned(point, "tpot_s")))
    if point.ttft_s is not None and point.load.kind != "batch":
        parts.append(_("the first after {ttft}").format(ttft=seconds(point.ttft_s)))
    parts.append(_("{tokens} output tokens/s per GPU").format(tokens=tokens(curve, point)))
    cost = curve.usd_per_million_output_tokens(point)
    if cost is not None:
        parts.append(_("{usd} per million output tokens").format(usd=usd(cost)))
    return ", ".join(parts)


def waits_for(bound: Bound) -> str:
    """What binds, in a sentence."""
    return {
        "weights": _(
            "The largest part of a token's time is the reading of the weights, which all running requests share."
        ),
        "kv": _("The largest part of a token's time is the reading of the cache: every running request has its own."),
        "compute": _("The largest part of a token's time is computing: more requests at once make each slower."),
        "network": _("The largest part of a token's time goes between the GPUs."),
        "overhead": _("The largest part of a token's time is the engine's overhead, not the GPU's work."),
        "prefill": _("The largest part of a token's time is the computing of other requests' prompts."),
        "memory": _("The cache holds no more requests at once: the others queue."),
        "max_num_seqs": _("max_num_seqs lets no more requests run at once: the others queue."),
        "unstable": _("More requests come than can be served: the queue grows without end."),
    }[bound]


def spanned(point: Point, metric: str) -> str:
    """A time with its 10th to 90th percentile, where they are known."""
    value = getattr(point, metric)
    if value is None:
        return "–"
    ends = point.interval.get(metric) if point.interval else None
    return span(spanning(ends[0], value, ends[1])) if ends else seconds(value)


def tokens(curve: Curve, point: Point) -> str:
    """Output tokens a second on a GPU, three digits."""
    return numeral(rounded(curve.output_tokens_per_s_per_gpu(point), 3), ",.10g")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
