"""The kernel database itself (`aiconfigurator-core`): asked once for a deployment, the answer kept as a StepTable."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bide.facts.deployment import Deployment
from bide.i18n import _, language
from bide.physics.measured.hf_config import PACKAGE, installed
from bide.physics.measured.lowering import lower
from bide.physics.measured.query import Query, Uncovered, not_installed, queries
from bide.physics.steptime import StepTable
from bide.physics.stepwork import KvRead, kv_read

if TYPE_CHECKING:
    from collections.abc import Iterator

REFUSALS = (ValueError, RuntimeError, LookupError, AssertionError, ArithmeticError)
"""What the database raises for kernels that it lacks, shapes that it does not divide, and types that a card lacks."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Step times of a deployment from measured kernels."""

    table: StepTable
    source: str
    """Database, engine version and card that the kernels were measured with."""
    query: Query
    """What was asked; its types are the nearest that were measured."""


def measured_table(deployment: Deployment) -> Measured | Uncovered:
    """The deployment's step times from measured kernels; Uncovered, with the reason, where there are none.

    Kernels are measured one by one, so gaps between them, scheduling and sampling on the CPU are not in them.
    """
    asked = queries(deployment)
    if isinstance(asked, Uncovered):
        return asked
    if not installed():
        return not_installed()
    memory_bytes = deployment.gpu.usable_bytes if deployment.gpu else 0
    return _first_answer(asked, kv_read(deployment), memory_bytes * deployment.pp, language())


@lru_cache(maxsize=1024)
def _first_answer(asked: tuple[Query, ...], read: KvRead, memory_bytes: int, spoken: str) -> Measured | Uncovered:
    """The first of `asked` that the database answers, else why it did not answer the nearest (in language `spoken`)."""
    refusal = ""
    for query in asked:
        try:
            kernels = compiled(query)
            return Measured(lower(kernels, read, memory_bytes), _source(query), query)
        except REFUSALS as error:
            refusal = refusal or refusal_text(error)
    return Uncovered("data", _("no such kernels were measured: {refusal}").format(refusal=refusal))


@lru_cache(maxsize=16)
def compiled(query: Query) -> Any:
    """The database's engine for `query`; kept, so that the next of the same card need not read its kernels again.

    Raises what the database raises where it has no such kernels.
    """
    sdk: Any = import_module(f"{PACKAGE}.sdk")
    logging.getLogger(PACKAGE).setLevel(logging.ERROR)  # it warns of each table that it reads from another engine
    with _model_directory(query.config) as directory:
        return sdk.EngineHandle.compile(
            directory,
            query.system,
            query.backend,
            backend_version="current",
            tp_size=query.tp,
            pp_size=query.pp,
            attention_dp_size=query.attention_dp,
            moe_tp_size=query.moe_tp,
            moe_ep_size=query.moe_ep,
            gemm_quant_mode=query.linear,
            moe_quant_mode=query.experts,
            kvcache_quant_mode=query.cache,
            fmha_quant_mode=query.attention,
        )


@contextmanager
def _model_directory(config: str) -> Iterator[str]:
    """A directory as a model's, of which the database reads the config.json alone."""
    with TemporaryDirectory(prefix="bide-") as directory:
        Path(directory, "config.json").write_text(config, encoding="utf-8")
        yield directory


def _source(query: Query) -> str:
    from importlib.metadata import version

    tables: Any = import_module(f"{PACKAGE}.sdk.perf_database")
    engine = tables.resolve_query_version(query.system, query.backend, "current")
    text = _("kernels measured with {backend} {engine} on {system} (aiconfigurator-core {version})")
    return text.format(
        backend=query.backend, engine=engine, system=query.system, version=version("aiconfigurator-core")
    )


def refusal_text(error: Exception) -> str:
    """The first sentence of a refusal, without paths of this machine."""
    text = " ".join(str(error).removeprefix("perf database error: ").split())
    return text.split(" at /")[0].split("; ")[0].split(": tried")[0][:200] or type(error).__name__
