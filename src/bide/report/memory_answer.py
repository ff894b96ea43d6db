"""All that `bide memory` says of one deployment, for whoever shows it: the ledger, contexts, levers, services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bide.facts.deployment import Deployment
from bide.i18n import _
from bide.physics.memory import Memory, memory_of
from bide.plan.levers import Lever, levers
from bide.plan.tenants import Need, Tenant, needs
from bide.report.memory_text import MemorySaid, lever_context, sentence, shown_contexts


class MemoryAnswer:
    """What was asked, and what follows from it.

    `raw`: the keys of a deployment. `asked`: contexts in tokens, those that are usual where none are given.
    `profile`: read for the pool that it took from the log of this deployment. Raises BadInput.
    """

    def __init__(
        self,
        raw: Mapping[str, object],
        asked: Sequence[int] = (),
        mean_tokens: int | None = None,
        tenants: Sequence[Tenant] = (),
        profile: Path | None = None,
    ) -> None:
        self.memory: Memory = memory_of(_with_pool(Deployment.resolve(raw), profile))
        self.contexts = list(asked) or shown_contexts(self.memory)
        self.context_tokens = asked[0] if asked else lever_context(self.memory)
        self.mean_tokens = mean_tokens
        self.levers: list[Lever] = levers(raw, self.memory, self.context_tokens, mean_tokens)
        self.needs: list[Need] = needs(self.memory, tenants)

    def sentence(self) -> str:
        """How many fit: of the mean length where one was given, else of the context that levers are shown at."""
        if self.mean_tokens and self.memory.fits:
            return sentence(self.memory, self.mean_tokens, mean=True)
        return sentence(self.memory, self.context_tokens)

    def to_dict(self) -> dict[str, Any]:
        """The keys of `bide memory --json`."""
        from bide.physics.memory_dict import memory_dict
        from bide.plan.tenants import needs_dict

        contexts = [*self.contexts, self.mean_tokens] if self.mean_tokens else self.contexts
        deployment = self.memory.deployment
        return {
            "model": deployment.model.name,
            "gpu": deployment.gpu.id if deployment.gpu else None,
            "fits": self.memory.fits,
            **memory_dict(self.memory, contexts),
            "levers": [lever.to_dict() for lever in self.levers],
            "services": needs_dict(self.memory, self.needs) if self.needs else None,
            "assumptions": [assumption.to_dict() for assumption in deployment.assumptions],
            "sources": self._sources(),
        }

    def _sources(self) -> dict[str, str | None]:
        """Where the model's facts and the card's memory come from, and the logs behind the other terms."""
        deployment = self.memory.deployment
        return {
            "model": str(deployment.model.source),
            "gpu": str(deployment.gpu.sources["usable"]) if deployment.gpu else None,
            "engine_terms": deployment.engine.memory.rows or None,
        }

    def why_not(self) -> str:
        """What is needed, what there is, and what would work."""
        from bide.physics.pool import no_room, stage_pools

        deployment = self.memory.deployment
        if deployment.gpu is None or deployment.pool_bytes_per_gpu is not None:
            return _("the pool that was given is empty")
        text = no_room(deployment, stage_pools(deployment))
        working = [lever.name for lever in self.levers if lever.requests and lever.id not in ("tp", "paged")]
        return text + ("; " + _("or {names}").format(names=", ".join(working)) if working else "")

    def said(self) -> MemorySaid:
        """What the report's pages are made of."""
        return MemorySaid(
            self.memory,
            self.sentence(),
            self.contexts,
            self.context_tokens,
            self.levers,
            self.mean_tokens,
            self.needs,
        )


def _with_pool(deployment: Deployment, profile: Path | None) -> Deployment:
    if profile is None:
        return deployment
    from bide.physics.own import with_own_pool
    from bide.physics.profile import load_profile

    found = load_profile(profile)
    return with_own_pool(deployment, found.own, found.name)
