"""Loads what the first answers need: the chart library of Python, facts, the profile of step times."""

from __future__ import annotations


def warm_up() -> None:
    """An answer of each kind; the next is quick."""
    from bide.facts.deployment import Deployment
    from bide.report.curve_answer import curves_said
    from bide.report.curve_charts import throughput_chart
    from bide.report.memory_answer import MemoryAnswer
    from bide.report.memory_charts import context_chart
    from bide.simulate.operating import Mix
    from bide.web.page import shell
    from bide.web.page.charts import quick, spec

    shell.modules()
    quick()
    raw = {"model": "meta-llama/Llama-3.1-8B", "gpu": "h100-sxm"}
    spec(context_chart(MemoryAnswer(raw).memory, [], 8192))
    spec(throughput_chart(curves_said([(Deployment.resolve(raw), Mix(1000, 500))])))
