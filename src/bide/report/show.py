"""Any answer as a chart or a page: `bide.chart(value)`, `bide.html(value)`, and as a page in a notebook.

Values know nothing of rendering; here is the one place that knows how each is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bide.errors import BadInput
from bide.facts.deployment import Deployment
from bide.facts.resolving import KEYS
from bide.i18n import _
from bide.physics.memory import Memory
from bide.plan.answer import Plan, ServicePlan
from bide.simulate.operating import Curve
from bide.simulate.simulation import Simulation
from bide.workload.measuring.description import Description
from bide.workload.observing.observation import Observation
from bide.workload.reading.report import Reading
from bide.workload.trace import Trace

if TYPE_CHECKING:
    from bide.report.workload_text import WorkloadSaid

_WIDTH, _HEIGHT = 640, 360
_FRAME_HEIGHT = 720


@singledispatch
def chart(value: object) -> Any:
    """An Altair chart of an answer. Raises BadInput for anything else.

    Of a memory answer requests against context; of a curve or a list of curves time between tokens against
    throughput; of a plan latency by number of GPUs; of a trace, its reading or its description lengths; of
    observed traffic lengths; of a simulation latencies.
    """
    raise _not_shown(value)


@singledispatch
def html(value: object) -> str:
    """The same as one self-contained page. Raises BadInput for anything else."""
    raise _not_shown(value)


def _not_shown(value: object) -> BadInput:
    allowed = _("what bide.memory, bide.curve, bide.simulate_workload or a plan returns, a list of curves, or a trace")
    return BadInput("value", type(value).__name__, allowed)


@chart.register
def _memory_chart(memory: Memory) -> Any:
    from bide.report.memory_charts import context_chart
    from bide.report.memory_page import marked_contexts
    from bide.report.memory_text import shown_contexts

    contexts = shown_contexts(memory)
    return _sized(context_chart(memory, marked_contexts(memory, contexts), max(contexts)))


@html.register
def _memory_html(memory: Memory) -> str:
    from bide.plan.levers import levers
    from bide.report.memory_page import memory_page
    from bide.report.memory_text import MemorySaid, lever_context, sentence, shown_contexts

    tokens = lever_context(memory)
    found = levers(_given(memory.deployment), memory, tokens, None)
    return memory_page(MemorySaid(memory, sentence(memory, tokens), shown_contexts(memory), tokens, found))


def _given(deployment: Deployment) -> dict[str, object]:
    """What was said of a deployment, by the keys that `Deployment.resolve` takes; the rest it fills in anew."""
    assumed = {assumption.name for assumption in deployment.assumptions}
    values: dict[str, object] = {key: getattr(deployment, key, None) for key in KEYS}
    values |= {"engine": deployment.engine.name, "engine_version": deployment.engine.version_text}
    return {key: value for key, value in values.items() if value is not None and key not in assumed}


@chart.register
def _curve_chart(curve: Curve) -> Any:
    return _curves_chart([curve])


@chart.register(list)
@chart.register(tuple)
def _curves_chart(curves: Sequence[Curve]) -> Any:
    from bide.report.curve_charts import throughput_chart
    from bide.report.curve_said import said

    return _sized(throughput_chart(said(_checked(curves))))


@html.register
def _curve_html(curve: Curve) -> str:
    return _curves_html([curve])


@html.register(list)
@html.register(tuple)
def _curves_html(curves: Sequence[Curve]) -> str:
    from bide.report.curve_page import curve_page
    from bide.report.curve_said import said

    return curve_page(said(_checked(curves), explained=len(curves) == 1))


def _checked(curves: Sequence[object]) -> list[Curve]:
    found = [curve for curve in curves if isinstance(curve, Curve)]
    if not found or len(found) < len(curves):
        raise _not_shown(next((curve for curve in curves if not isinstance(curve, Curve)), curves))
    return found


@chart.register
def _plan_chart(plan: Plan) -> Any:
    import altair as alt

    from bide.report.themed import coloured

    charts = [_service_chart(service) for service in plan.services if service.chosen]
    if not charts:
        raise BadInput("value", _("a plan that cannot be met"), _("a plan with something to draw"))
    return coloured(alt.vconcat(*charts))


def _service_chart(service: ServicePlan) -> Any:
    """The first thing that it asks for, by number of GPUs."""
    from bide.report.plan_asked import asked_of
    from bide.report.plan_fleet_charts import fleet_chart

    asked = asked_of(service.service)[0]
    title = f"{service.service.name}: {asked.name}"
    return fleet_chart(service, asked).properties(title=title, width=_WIDTH, height=_HEIGHT)


@html.register
def _plan_html(plan: Plan) -> str:
    from bide.report.plan_html import plan_html

    return plan_html(plan)


@chart.register(Trace)
@chart.register(Reading)
@chart.register(Description)
def _workload_chart(value: Trace | Reading | Description) -> Any:
    from bide.report.workload_charts import lengths_of

    return _sized(lengths_of(_said(value)))


@html.register(Trace)
@html.register(Reading)
@html.register(Description)
def _workload_html(value: Trace | Reading | Description) -> str:
    from bide.report.workload_page import workload_page

    return workload_page(_said(value))


def _said(value: Trace | Reading | Description) -> WorkloadSaid:
    """With the measures of a trace that has not been measured yet."""
    from bide.report.workload_text import WorkloadSaid
    from bide.workload.measuring.description import describe

    if isinstance(value, Description):
        return WorkloadSaid(value)
    if isinstance(value, Trace):
        return WorkloadSaid(describe(value), value)
    return WorkloadSaid(describe(value.trace), value.trace, value.report)


@chart.register
def _observed_chart(seen: Observation) -> Any:
    from bide.report.observe_page import lengths_of

    return _sized(lengths_of(seen))


@html.register
def _observed_html(seen: Observation) -> str:
    from bide.report.observe_page import observe_page

    return observe_page(seen)


@chart.register
def _simulated_chart(made: Simulation) -> Any:
    from bide.report.simulate_charts import latencies_of

    return _sized(latencies_of(made))


@html.register
def _simulated_html(made: Simulation) -> str:
    from bide.report.simulate_page import simulate_page

    return simulate_page(made)


def _sized(drawn: Any) -> Any:
    from bide.report.themed import coloured

    return coloured(drawn.properties(width=_WIDTH, height=_HEIGHT))


def enable_notebook() -> None:
    """From here on an answer at the end of a notebook's cell is shown as its page.

    Raises BadInput outside of IPython.
    """
    try:
        shell = import_module("IPython").get_ipython()
    except ImportError:
        shell = None
    if shell is None:
        raise BadInput("notebook", None, _("a running IPython; elsewhere write bide.html(value) to a file"))
    formatter = shell.display_formatter.formatters["text/html"]
    for kind in (Memory, Curve, Plan, Trace, Reading, Description, Observation, Simulation):
        formatter.for_type(kind, _framed)


def _framed(value: object) -> str:
    """The page in a frame of its own, so that its style and the notebook's do not meet."""
    from html import escape

    return f'<iframe srcdoc="{escape(html(value))}" style="width:100%;height:{_FRAME_HEIGHT}px;border:0"></iframe>'
