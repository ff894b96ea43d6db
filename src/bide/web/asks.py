"""What `memory` and `curve` are asked, as JSON: the shapes. What values mean is checked where the command line does."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from bide.errors import BadInput
from bide.i18n import _
from bide.web.shapes import DeploymentAsk, Profile, Shape, Size

LLAMA, H100 = "meta-llama/Llama-3.1-8B-Instruct", "h100-sxm"
"""Of the examples."""


class TenantAsk(Shape):
    """A service that shares the GPUs: `users` who each hold `tokens`."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    tokens: Size
    users: Annotated[int, Field(ge=1, le=10**9)]


class MemoryAsk(Shape):
    """How many requests fit."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"deployment": {"model": LLAMA, "gpu": H100}, "context_tokens": [2048, 8192, 32768]}]
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
                    "deployments": [{"model": LLAMA, "gpu": H100}, {"model": LLAMA, "gpu": "l40s"}],
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
