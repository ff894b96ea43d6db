"""What the API answers, for its documentation: the keys that are always there. Further ones are in the guides."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """An answer: the object that the command of that name prints with `--json`."""

    model_config = ConfigDict(extra="allow")

    schema_: str = Field(alias="schema")
    cannot_be_met: str | None = Field(None, description="Why there is no answer; nothing else is there then.")


class MemoryAnswered(Answer):
    """`bide memory --json`."""

    fits: bool | None = None
    kv: dict[str, Any] | None = None
    weights: dict[str, Any] | None = None
    pool: dict[str, Any] | None = None
    concurrency: list[dict[str, Any]] | None = None
    levers: list[dict[str, Any]] | None = None
    services: dict[str, Any] | None = None
    warnings: list[str] | None = None
    assumptions: list[dict[str, Any]] | None = None


class CurveAnswered(Answer):
    """`bide curve --json`."""

    curves: list[dict[str, Any]] | None = None
    not_shown: list[dict[str, Any]] | None = None
    assumptions: list[dict[str, Any]] | None = None


class Left(BaseModel):
    """A file that a job left, at `/api/v1/jobs/{id}/files/{name}`."""

    name: str
    size_bytes: int


class JobRecord(BaseModel):
    """A job: `share` of it that is done, `words` for what it is at, jobs `ahead` of it while it waits."""

    schema_: str = Field(alias="schema")
    id: str
    kind: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    share: float | None
    words: str
    ahead: int | None
    error: dict[str, Any] | None
    files: list[Left]


class UploadRecord(BaseModel):
    """A file that was sent."""

    schema_: str = Field(alias="schema")
    upload: str
    name: str
    size_bytes: int


class Listed(BaseModel):
    """A list of the catalogue."""

    model_config = ConfigDict(extra="allow")

    schema_: str = Field(alias="schema")
