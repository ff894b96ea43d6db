"""How many fit, from what a visitor set: the deployment as asked, and with the levers that are switched on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bide.plan.levers import changes
from bide.plan.tenants import Tenant, parse_tenant
from bide.report.memory_answer import MemoryAnswer
from bide.report.memory_charts import context_chart, ledger_chart
from bide.report.memory_explain import explained_count, explained_parts
from bide.report.memory_page import marked_contexts
from bide.report.memory_text import shown_contexts
from bide.web.page import checks
from bide.web.page.charts import spec
from bide.web.page.deployment_form import raw_deployment
from bide.web.page.state import Key
from bide.web.settings import Settings

LEVERS = ("kv_fp8", "weights_fp8", "weights_int4", "tp", "gpu", "model")
_EITHER = ("weights_fp8", "weights_int4")
_MOST_SERVICES = 20


def _services(text: str) -> str:
    parts = [part.strip() for part in text.split(",") if part.strip()][:_MOST_SERVICES]
    return ",".join(f"{one.name}:{one.tokens}:{one.users}" for one in map(parse_tenant, parts))


KEYS = (
    Key("context", "8192", checks.tokens("context")),
    Key("mean_tokens", "", checks.tokens("mean_tokens")),
    Key("levers", "", checks.some_of("levers", LEVERS)),
    Key("services", "chat:2000:100,documents:16384:20", _services),
)


@dataclass(frozen=True, slots=True)
class FitAnswer:
    """`asked` is without the levers, `answer` with those that are `on`; the charts are None where nothing fits.

    The lever `paged`, requests that are shorter on average, is on where a mean is set, in both.
    """

    asked: MemoryAnswer
    answer: MemoryAnswer
    on: tuple[str, ...]
    switchable: frozenset[str]
    why: Mapping[str, Sequence[str]]
    card: dict[str, Any] | None
    contexts: dict[str, Any] | None


def fit_answer(values: Mapping[str, str], settings: Settings, profile: Path | None = None) -> FitAnswer:
    """`profile`: a calibration's file. Raises BadInput for what cannot be put together."""
    raw = raw_deployment(values, settings)
    tenants = tenants_of(values["services"])
    asked = _answer(raw, values, tenants, profile)
    possible = changes(raw, asked.memory)
    on = tuple(lever for lever in values["levers"].split(",") if lever in possible)
    shorter = ("paged",) if asked.mean_tokens else ()
    changed: dict[str, object] = {}
    for lever in on:
        changed |= possible[lever]
    answer = _answer({**raw, **changed}, values, tenants, profile) if on else asked
    memory = answer.memory
    return FitAnswer(
        asked=asked,
        answer=answer,
        on=(*on, *shorter),
        switchable=frozenset((*possible, "paged")),
        why=_why(answer) if memory.fits else {},
        card=spec(ledger_chart(memory.ledger, 3)) if memory.size and memory.fits else None,
        contexts=_contexts_spec(asked, answer) if memory.fits else None,
    )


def _answer(
    raw: Mapping[str, object], values: Mapping[str, str], tenants: Sequence[Tenant], profile: Path | None
) -> MemoryAnswer:
    mean = int(values["mean_tokens"]) if values["mean_tokens"] else None
    answer = MemoryAnswer(raw, [int(values["context"])], mean, tenants, profile)
    answer.contexts = sorted({*answer.contexts, *shown_contexts(answer.memory)})
    return answer


def _why(answer: MemoryAnswer) -> dict[str, list[str]]:
    """The arithmetic of each figure; how many fit is counted at the mean where there is one."""
    parts = explained_parts(answer.memory, answer.context_tokens)
    counted = explained_count(answer.memory, answer.mean_tokens or answer.context_tokens)
    return {**parts, "request": parts["request"] or parts["requests"], "requests": counted}


def _contexts_spec(asked: MemoryAnswer, answer: MemoryAnswer) -> dict[str, Any]:
    before = asked.memory if asked is not answer else None
    contexts = sorted({*answer.contexts, *([answer.mean_tokens] if answer.mean_tokens else [])})
    marked = marked_contexts(answer.memory, contexts)
    return spec(context_chart(answer.memory, marked, max(answer.contexts), before=before))


def tenants_of(text: str) -> list[Tenant]:
    return [parse_tenant(part) for part in text.split(",") if part]


def switched(values: Mapping[str, str], change: str) -> dict[str, str]:
    """The inputs that change as a lever is switched: `+kv_fp8` on, `-tp` off. Two weight formats exclude each other.

    Shorter requests are half as long as the longest, until the visitor gives a mean.
    """
    on, lever = change[:1] == "+", change[1:]
    if lever == "paged":
        return {"mean_tokens": str(max(1, int(values["context"]) // 2)) if on else ""}
    kept = [one for one in values["levers"].split(",") if one and one != lever]
    if on:
        kept = [one for one in kept if not (lever in _EITHER and one in _EITHER)] + [lever]
    return {"levers": ",".join(kept)}
