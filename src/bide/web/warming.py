"""What the first answers need, imported and read before anybody asks."""

from __future__ import annotations


def warm() -> None:
    """Answer one of each kind; who comes first finds everything there."""
    from bide.facts.deployment import Deployment
    from bide.facts.hf.reader import known_types
    from bide.report.curve_answer import curves_dict, curves_said
    from bide.report.memory_answer import MemoryAnswer
    from bide.simulate.operating import Mix

    known_types()
    raw = {"model": "llama-3.1-8b", "gpu": "h100-sxm"}
    MemoryAnswer(raw).to_dict()
    curves_dict(curves_said([(Deployment.resolve(raw), Mix(1000.0, 500.0))]))
