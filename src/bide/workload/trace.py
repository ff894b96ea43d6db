"""A trace: requests as they were recorded or drawn, one after another on one clock."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

from bide.errors import BadInput
from bide.i18n import _
from bide.sourced import Assumption, Source
from bide.workload.arrivals import SEED, poisson_gaps, recorded_gaps
from bide.workload.blocks import Blocks
from bide.workload.requests import Workload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

_COLUMNS = ("prompt_tokens", "output_tokens", "arrival_s", "blocks", "session", "think_s", "cached_tokens")


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Requests in the order of their arrival. Columns are of equal length; None where the source has none.

    `output_tokens` of 0 is a request that was not answered: load, but not a length. `arrival_s` counts
    from the first request. `session` numbers conversations; `think_s` is how long the client waited
    after the answer before (NaN for the first of a session). `cached_tokens` are the prompt tokens that
    whoever served the request said it found in its cache.
    """

    prompt_tokens: Ints
    output_tokens: Ints
    arrival_s: Floats | None
    source: Source
    blocks: Blocks | None = None
    session: Ints | None = None
    think_s: Floats | None = None
    cached_tokens: Ints | None = None
    assumptions: tuple[Assumption, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths = {len(column) for column in self._columns().values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of different lengths: {sorted(lengths)}")
        if self.arrival_s is not None and (self.arrival_s[1:] < self.arrival_s[:-1]).any():
            raise ValueError("not in order of arrival")

    def _columns(self) -> dict[str, Any]:
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name in _COLUMNS}
        return {name: column for name, column in given.items() if column is not None}

    def __len__(self) -> int:
        return len(self.prompt_tokens)

    @property
    def answered(self) -> Booleans:
        """Requests with an output; all of them where no output is recorded at all."""
        there = self.output_tokens > 0
        return there if there.any() else ~there

    @property
    def outputs_known(self) -> bool:
        """Whether any output length is recorded."""
        return bool((self.output_tokens > 0).any())

    @property
    def span_s(self) -> float:
        """From the first request to the last; 0 where there are no times."""
        return float(self.arrival_s[-1] - self.arrival_s[0]) if self.arrival_s is not None and len(self) else 0.0

    @property
    def requests_per_s(self) -> float | None:
        """Mean rate; None without times or without a span."""
        return (len(self) - 1) / self.span_s if self.span_s > 0 else None

    def taken(self, order: Ints) -> Trace:
        """The requests of `order`, which must keep the order of arrival."""
        kept = {name: c.taken(order) if isinstance(c, Blocks) else c[order] for name, c in self._columns().items()}
        return replace(self, **cast("dict[str, Any]", kept))

    def workload(self, field: str = "trace") -> Workload:
        """Answered pairs and the unevenness of their arrivals, for whoever sets the rate himself.

        Raises BadInput naming `field` where no output is recorded or all came at once.
        """
        import numpy as np

        if not self.outputs_known:
            raise BadInput(field, self.source.text, _("a trace with the number of tokens generated"))
        answered = np.flatnonzero(self.answered)
        gaps, assumptions = self._gaps(answered, field)
        prompt, output = self.prompt_tokens[answered], self.output_tokens[answered]
        return Workload(prompt, output, gaps, self.source, (*assumptions, *self.assumptions), self.notes)

    def _gaps(self, answered: Ints, field: str) -> tuple[Floats, tuple[Assumption, ...]]:
        name = _("arrivals")
        if self.arrival_s is None:
            why = _("the trace has no times; real traffic comes in bigger bursts")
            return poisson_gaps(len(answered), SEED), (Assumption(name, _("Poisson"), why),)
        try:
            gaps = recorded_gaps(self.arrival_s[answered])
        except ValueError as error:
            raise BadInput(field, self.source.text, _("requests that arrive at different times")) from error
        why = _("played faster or slower until its mean rate is that of one replica, as bursty as the whole")
        return gaps, (Assumption(name, _("as in the trace"), why),)
