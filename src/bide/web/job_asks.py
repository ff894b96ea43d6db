"""What jobs are asked, as JSON: the shapes. What values mean is checked where the command line checks it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from bide.web.asks import H100, LLAMA
from bide.web.shapes import DeploymentAsk, ModelGiven, OpenDeployment, Profile, SampleRef, Shape, Size, UploadRef, Word

_UPLOAD = "Zm9ydHktdHdvLWJ5dGVzLg"
"""In examples, in the place of an id that an upload was given."""
_VIEW = "view: what a page shows of it, as JSON: sentences, tables, Vega-Lite charts."


class AtAsk(Shape):
    """Something that happens to a replica, counted from 0."""

    replica: int
    time: Size


class SimulateAsk(Shape):
    """A workload through a fleet, step for step. Times: seconds, or text with a unit."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "deployment": {"model": LLAMA, "gpu": H100},
                    "workload": {"sample": "azure-conv-2023"},
                    "requests": 500,
                    "rate": 5.0,
                    "slo": {"ttft": "1s", "tpot": "50ms"},
                }
            ]
        }
    )

    deployment: DeploymentAsk
    workload: UploadRef | SampleRef | dict[str, Any] = Field(
        description="A trace or workload file; or the content of a workload file: lengths, arrivals, sessions."
    )
    rate: float | None = None
    scale: float | None = None
    requests: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    replicas: Annotated[int, Field(le=1000)] | None = None
    router: Word | None = None
    prefill_replicas: Annotated[int, Field(le=1000)] | None = None
    decode_replicas: Annotated[int, Field(le=1000)] | None = None
    decode_router: Word | None = None
    link_bandwidth: Size | None = None
    link_latency: Size | None = None
    concurrency: int | None = None
    think_time: Size | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    mixed_chunk: bool | None = None
    start: Annotated[list[AtAsk], Field(max_length=100)] | None = None
    fail: Annotated[list[AtAsk], Field(max_length=100)] | None = None
    start_up: Size | None = None
    patience: Size | None = None
    timeout: Size | None = None
    retries: Annotated[int, Field(le=100)] | None = None
    backoff: Size | None = None
    queue_limit: int | None = None
    slo: dict[str, Size] | None = None
    warm_up: Size | None = None
    seed: Annotated[int, Field(ge=0, le=2**31)] | None = None
    step_error: bool = True
    steps: Literal["roofline", "kernels"] = "roofline"
    profile: Profile | None = None
    files: list[Literal["html", "md", "png", "svg", "requests.csv"]] = Field([], max_length=10)


class MeasuredAsk(Shape):
    """What one replica did in benchmarks, in place of simulating it."""

    results: Annotated[list[UploadRef], Field(min_length=1, max_length=100)]
    gpu: Word | None = None
    deployment: dict[str, Any] | None = None


class ServiceAsk(Shape):
    """A service, as in a service file; its trace, workload file and benchmarks are uploads, or samples."""

    name: Word
    model: ModelGiven
    workload: dict[str, Any]
    traffic: dict[str, Any]
    patience: dict[str, Any] | None = None
    deployment: dict[str, Any] | None = None
    disaggregated: bool | Annotated[list[bool], Field(min_length=1, max_length=2)] | None = None
    api_price: dict[str, Any] | None = None
    measured: MeasuredAsk | None = None


class PlanAsk(Shape):
    """Which GPUs, how many: the content of a service file."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "services": [
                        {
                            "name": "support chat",
                            "model": LLAMA,
                            "workload": {"lengths": {"prompt": {"p50": 900, "p95": 3800}, "output": {"mean": 210}}},
                            "traffic": {"peak_rps": 12, "margin": 1.5},
                            "patience": {"e2e_p95": "5s"},
                        }
                    ],
                    "hardware": {"gpus": [H100], "max_gpus": 64},
                }
            ]
        }
    )

    services: Annotated[list[ServiceAsk], Field(min_length=1, max_length=20)]
    hardware: dict[str, Any]
    fleet: dict[str, Any] | None = None
    profile: Profile | None = None
    files: list[Literal["html", "md", "csv", "manifests", "view"]] = Field([], max_length=10, description=_VIEW)


class CalibrateAsk(Shape):
    """Step times from measured runs of one deployment; the pool from an engine's log."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"results": [{"upload": _UPLOAD}], "deployment": {"model": LLAMA, "gpu": H100}}]
        }
    )

    results: Annotated[list[UploadRef], Field(max_length=100)] = Field([])
    log: UploadRef | None = None
    deployment: OpenDeployment | None = Field(None, description="What the files leave open.")
    step_law: Literal["roofline", "affine"] = "roofline"
    force: bool = False
    name: Word = ""
    profile: Profile | None = None
    files: list[Literal["html", "md", "csv", "view"]] = Field([], max_length=10, description=_VIEW)


class CompareAsk(Shape):
    """Measured results beside others, or beside the prediction for a deployment."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"a": {"upload": _UPLOAD}, "deployment": {"model": LLAMA, "gpu": H100}}]}
    )

    a: UploadRef
    b: UploadRef | None = None
    deployment: DeploymentAsk | None = None
    profile: Profile | None = None
    files: list[Literal["html", "md", "csv", "view"]] = Field([], max_length=10, description=_VIEW)


class MeasureAsk(Shape):
    """What load clients measured: every level of load in the files."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"results": [{"upload": _UPLOAD}]}]})

    results: Annotated[list[UploadRef], Field(min_length=1, max_length=100)]
    files: list[Literal["view"]] = Field([], max_length=10, description=_VIEW)


class DescribeAsk(Shape):
    """What the traffic of a trace is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"workload": {"sample": "azure-conv-2023"}}]})

    workload: UploadRef | SampleRef
    keep_ticks: bool = False
    files: list[Literal["html", "md", "png", "svg"]] = Field([], max_length=10)
