"""What requests are made of: numbers with units, files, models, deployments. What values mean is checked elsewhere."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

ID = r"^[A-Za-z0-9_-]{22}$"
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
