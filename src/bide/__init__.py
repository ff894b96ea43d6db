"""bide: from a model, a GPU, a workload and what users will wait, to how many fit, how fast and what it costs.

The names below are imported when first used, so that `import bide` and the command line stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "BadInput": "bide.errors",
    "BideError": "bide.errors",
    "CannotBeMet": "bide.errors",
    "Deployment": "bide.facts.deployment",
    "Gpu": "bide.facts.gpus",
    "Load": "bide.simulate.operating",
    "Mix": "bide.simulate.operating",
    "Model": "bide.facts.model",
    "all_gpus": "bide.facts.gpus",
    "calibrate": "bide.calibrate.calibration",
    "chart": "bide.report.show",
    "compare": "bide.calibrate.comparing",
    "curve": "bide.simulate.curve:curve_of",
    "enable_notebook": "bide.report.show",
    "find_gpu": "bide.facts.gpus",
    "html": "bide.report.show",
    "load_model": "bide.facts.models",
    "memory": "bide.physics.memory:memory_of",
    "simulate_workload": "bide.simulate.simulation",
}
"""The module of each name; after a colon, what the name is called there."""
__all__ = ["__version__", *_EXPORTS]  # noqa: PLE0604 (every entry is a string)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'bide' has no attribute {name!r}")
    module, _colon, attribute = _EXPORTS[name].partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
