"""Replicas under load, many at once: how long their steps and prompts take with so many requests running.

Of R requests running in a batch of a replica (its data-parallel groups x pipeline stages), each takes N steps to
decode and c chunks to prefill, so that R N / (N + c) decode and R c / (N + c) chunks fall to a step: one at a time up
to there, together beyond, up to the step's budget. More requests than fill it cannot run, whatever the pool holds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from bide.physics.steptime import StepTable, chunk_count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Replicas:
    """Replicas and what each serves: arrays of shape [n], and a stack of n tables.

    `batches`: data-parallel groups x pipeline stages; `slots`, `clients` and rates are the replica's.
    """

    table: StepTable
    kv_bytes: Floats
    """Mean cache of a running request, on one GPU, all stages together."""
    prompt_tokens: Floats
    output_tokens: Floats
    slots: Floats
    batches: Floats
    budget_tokens: Floats
    tokens_each: Floats
    """Scheduled for a sequence in a decode step: one, and drafts."""
    tokens_got: Floats
    """That a sequence gets from a step, on average."""
    request_s: Floats
    burst: Floats
    bunching_scale: Floats
    bunching_power: Floats

    def chosen(self, index: NDArray[np.intp]) -> Replicas:
        """Those of these rows."""
        kept = {field.name: getattr(self, field.name)[index] for field in fields(self) if field.name != "table"}
        table = StepTable(*(getattr(self.table, field.name)[index] for field in fields(StepTable)))
        return Replicas(table=table, **kept)

    @property
    def steps(self) -> Floats:
        """Decode steps of a request after its first token."""
        import numpy as np

        return np.asarray(np.maximum(self.output_tokens - 1, 0.0) / self.tokens_got)

    @property
    def chunks(self) -> Floats:
        return chunk_count(self.prompt_tokens, self.budget_tokens)

    @property
    def shared_steps(self) -> Floats:
        """Decode steps that a prompt's chunks go with: none where prefills have steps of their own."""
        import numpy as np

        return np.where(self.separate, 0.0, self.chunks)

    @property
    def chunks_a_step(self) -> Floats:
        """Chunks that the budget of a step has room for."""
        import numpy as np

        return np.asarray(np.maximum(self.budget_tokens * self.chunks / np.maximum(self.prompt_tokens, 1.0), 1.0))

    @property
    def places(self) -> Floats:
        """Requests that run at once: no more than slots, nor, where steps are shared, than fill them with prompts."""
        import numpy as np

        most = self.chunks_a_step * (self.steps + self.chunks) / self.chunks * self.batches
        return np.asarray(np.where(self.separate, self.slots, np.minimum(self.slots, most)))

    def pace(self, running: Floats) -> Pace:
        """How fast things go with `running` requests, of which those that do not prefill decode."""
        import numpy as np

        each = running / self.batches
        prefilling = self.chunks / (self.steps + self.chunks)
        decoding = np.where(self.separate, each, each * (1 - prefilling))
        return self.pace_of(decoding, np.clip(each * prefilling, 1.0, self.chunks_a_step))

    def pace_of(self, decoding: Floats, together: Floats) -> Pace:
        """How fast things go where each batch decodes `decoding` sequences, and prefills go `together` at once."""
        import numpy as np

        decode_s = self.table.decode_s(decoding, self.kv_bytes, self.tokens_each)
        scheduled = np.maximum(decoding, 1.0) * self.tokens_each
        prompt_s = self.table.prefill_s(self.prompt_tokens, self.budget_tokens, scheduled, together)
        shared_s = self.shared_steps * decode_s
        return Pace(
            decoding=decoding,
            together=together,
            batches=self.batches,
            decode_s=decode_s,
            prompt_s=prompt_s,
            spread_s=prompt_s / self.batches,
            chunk_steps_s=shared_s,
            held_s=self.steps * decode_s + shared_s,
        )

    @property
    def separate(self) -> NDArray[np.bool_]:
        import numpy as np

        return np.broadcast_to(np.asarray(self.table.separate_prefill) > 0, self.slots.shape)

    @property
    def highest_rate(self) -> Floats:
        """Requests per second that a full replica keeps up with."""
        return self.pace(self.places).open_rate(self.places)


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
    """Seconds at some number of running requests, arrays of shape [n]."""

    decoding: Floats
    """Sequences that each batch decodes."""
    together: Floats
    """Prompts that prefill in the same steps."""
    batches: Floats
    decode_s: Floats
    """A step that only decodes."""
    prompt_s: Floats
    """GPU time that one prompt adds to its batch's steps."""
    spread_s: Floats
    """The same, over the batches that run at once."""
    chunk_steps_s: Floats
    """Decode steps that a prompt's chunks share."""
    held_s: Floats
    """Steps during which a request holds its slot, others' prefills apart."""

    @property
    def first_s(self) -> Floats:
        """From the first to the last of the steps that prefill a prompt: whole steps, with the others' part."""
        return self.together * self.prompt_s + self.chunk_steps_s

    def cycle_s(self, running: Floats) -> Floats:
        """R x + (N + c) d, R being a batch's: what it takes until every running request has been served once."""
        import numpy as np

        return np.asarray(np.maximum(running / self.batches, 1.0) * self.prompt_s + self.held_s)

    def open_rate(self, running: Floats) -> Floats:
        """The arrivals per second that keep so many running: an arrival meets R, and is one more."""
        return running / ((running / self.batches + 1.0) * self.prompt_s + self.held_s)

    def others(self, running: Floats) -> Floats:
        """Of so many that all come back, those that prefill while one is served, but not in the same steps."""
        import numpy as np

        return np.asarray(np.maximum(running - self.together * self.batches, 0.0))
