"""What the API is asked, as JSON: the shapes. What values mean is checked where the command line checks it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bide.errors import BadInput
from bide.i18n import _

ID = r"^[A-Za-z0-9_-]{22}$"
_UPLOAD = "Zm9ydHktdHdvLWJ5dGVzLg"
"""In examples, in the place of an id that an upload was given."""
_LLAMA, _H100 = "meta-llama/Llama-3.1-8B-Instruct", "h100-sxm"

_VIEW = "view: what a page shows of it, as JSON: sentences, tables, Vega-Lite charts."
Size = int | float | Annotated[str, Field(max_length=40)]
"""A number, or one with a unit: `8k` tokens, `53GB`, `50ms`, `5s`."""
Word = Annotated[str, Field(max_length=200)]


class Shape(BaseModel):
    """Of a JSON object: no other keys, and no text for a number."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    def plain(self) -> dict[str, Any]:
        """What was given, as JSON has it."""
        return self.model_dump(exclude_none=True, exclude_unset=True)


class UploadRef(Shape):
    """A file that was sent to `/api/v1/uploads`."""

    upload: str = Field(pattern=ID)


class SampleRef(Shape):
    """A workload that comes with bide: see `/api/v1/samples`."""

    sample: Word


class JobRef(Shape):
    """What a finished job left: a calibration's profile."""

    job: str = Field(pattern=ID)


class Config(Shape):
    """The content of a model's config.json, and what to call it."""

    config: dict[str, Any]
    name: Annotated[str, Field(max_length=100)] | None = None
    quantization: dict[str, Any] | None = Field(None, description="The hf_quant_config.json beside it.")


ModelGiven = Word | UploadRef | Config
Profile = UploadRef | JobRef


class DeploymentAsk(Shape):
    """What runs where; the keys are those of `bide memory --batch`."""

    model: ModelGiven = Field(
        description="A catalogue name, an uploaded or inline config.json; a Hugging Face id where the server looks up."
    )
    gpu: Word | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    gpus: int | None = Field(None, description="In the place of tp, pp and dp: bide chooses.")
    engine: Word | None = None
    engine_version: Word | None = None
    weights: Word | None = None
    kv_dtype: Word | None = None
    gpu_memory_utilization: float | None = None
    max_model_len: Size | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: Size | None = None
    block_size: int | None = None
    enforce_eager: bool | None = None
    enable_prefix_caching: bool | None = None
    enable_chunked_prefill: bool | None = None
    async_scheduling: bool | None = None
    disable_hybrid_kv_cache_manager: bool | None = None
    speculative_tokens: int | None = None
    pool_bytes_per_gpu: Size | None = None


class OpenDeployment(DeploymentAsk):
    """The same where files say some of it."""

    model: ModelGiven | None = None  # type: ignore[assignment]  # may be missing here


class TenantAsk(Shape):
    """A service that shares the GPUs: `users` who each hold `tokens`."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    tokens: Size
    users: Annotated[int, Field(ge=1, le=10**9)]


class MemoryAsk(Shape):
    """How many requests fit."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"deployment": {"model": _LLAMA, "gpu": _H100}, "context_tokens": [2048, 8192, 32768]}]
        }
    )

    deployment: DeploymentAsk
    context_tokens: Annotated[list[Size], Field(max_length=100)] | None = None
    mean_tokens: Size | None = Field(None, description="Of a request: allocation as tokens come (paged).")
    services: Annotated[list[TenantAsk], Field(max_length=100)] | None = None
    pool_bytes_per_gpu: Size | None = None
    profile: Profile | None = None


class MixAsk(Shape):
    """Mean lengths of a request."""

    prompt_tokens: Size
    output_tokens: Size


Loads = Size | Annotated[list[Size], Field(min_length=1, max_length=200)]


class CurveAsk(Shape):
    """Speed against throughput, a curve for each deployment and mix."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "deployments": [{"model": _LLAMA, "gpu": _H100}, {"model": _LLAMA, "gpu": "l40s"}],
                    "prompt_tokens": 1000,
                    "output_tokens": 500,
                }
            ]
        }
    )

    deployments: Annotated[list[DeploymentAsk], Field(min_length=1, max_length=16)] | None = None
    deployment: DeploymentAsk | None = Field(None, description="In the place of a list of one.")
    mixes: Annotated[list[MixAsk], Field(min_length=1, max_length=16)] | None = None
    prompt_tokens: Size | None = None
    output_tokens: Size | None = None
    concurrency: Loads | None = Field(None, description="Clients, each with one request at a time.")
    requests_per_s: Loads | None = None
    batch: Loads | None = Field(None, description="Requests sent all at once and run to the end.")
    steps: Literal["roofline", "kernels"] = "roofline"
    profile: Profile | None = None


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
                    "deployment": {"model": _LLAMA, "gpu": _H100},
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
    files: list[Literal["html", "md", "png", "svg", "requests.csv"]] = []


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
                            "model": _LLAMA,
                            "workload": {"lengths": {"prompt": {"p50": 900, "p95": 3800}, "output": {"mean": 210}}},
                            "traffic": {"peak_rps": 12, "margin": 1.5},
                            "patience": {"e2e_p95": "5s"},
                        }
                    ],
                    "hardware": {"gpus": [_H100], "max_gpus": 64},
                }
            ]
        }
    )

    services: Annotated[list[ServiceAsk], Field(min_length=1, max_length=20)]
    hardware: dict[str, Any]
    fleet: dict[str, Any] | None = None
    profile: Profile | None = None
    files: list[Literal["html", "md", "csv", "manifests", "view"]] = Field([], description=_VIEW)


class CalibrateAsk(Shape):
    """Step times from measured runs of one deployment; the pool from an engine's log."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"results": [{"upload": _UPLOAD}], "deployment": {"model": _LLAMA, "gpu": _H100}}]
        }
    )

    results: Annotated[list[UploadRef], Field(max_length=100)] = []
    log: UploadRef | None = None
    deployment: OpenDeployment | None = Field(None, description="What the files leave open.")
    step_law: Literal["roofline", "affine"] = "roofline"
    force: bool = False
    name: Word = ""
    profile: Profile | None = None
    files: list[Literal["html", "md", "csv", "view"]] = Field([], description=_VIEW)


class CompareAsk(Shape):
    """Measured results beside others, or beside the prediction for a deployment."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"a": {"upload": _UPLOAD}, "deployment": {"model": _LLAMA, "gpu": _H100}}]}
    )

    a: UploadRef
    b: UploadRef | None = None
    deployment: DeploymentAsk | None = None
    profile: Profile | None = None
    files: list[Literal["html", "md", "csv", "view"]] = Field([], description=_VIEW)


class MeasureAsk(Shape):
    """What load clients measured: every level of load in the files."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"results": [{"upload": _UPLOAD}]}]})

    results: Annotated[list[UploadRef], Field(min_length=1, max_length=100)]
    files: list[Literal["view"]] = Field([], description=_VIEW)


class DescribeAsk(Shape):
    """What the traffic of a trace is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"workload": {"sample": "azure-conv-2023"}}]})

    workload: UploadRef | SampleRef
    keep_ticks: bool = False
    files: list[Literal["html", "md", "png", "svg"]] = []


def load_of(ask: CurveAsk) -> tuple[str, list[Any]] | None:
    """The kind of load and its values; None where none is given. Raises BadInput for two."""
    given = {name: getattr(ask, name) for name in ("concurrency", "requests_per_s", "batch")}
    said = {name: value for name, value in given.items() if value is not None}
    if len(said) > 1:
        first, second, *_others = said
        raise BadInput(second, said[second], _("one kind of load: {first} is given too").format(first=first))
    for name, value in said.items():
        return name, value if isinstance(value, list) else [value]
    return None
