"""Workloads that come with bide, by name, with where they are from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bide.errors import UnknownName
from bide.i18n import _

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Sample:
    """`file` lies beside this module; `source` and `licence` are to be shown with it."""

    name: str
    file: str
    what: str
    source: str
    licence: str

    def to_dict(self) -> dict[str, Any]:
        return {"sample": self.name, "what": self.what, "source": self.source, "licence": self.licence}


def samples() -> tuple[Sample, ...]:
    """All of them."""
    return (
        Sample(
            "azure-conv-2023",
            "azure-conv-2023-peak15min.csv.gz",
            _("Conversations: the busiest 15 minutes of the Azure LLM inference trace 2023, 6,541 requests"),
            "github.com/Azure/AzurePublicDataset, data/AzureLLMInferenceTrace_conv.csv at commit b469a113; "
            "Patel et al., Splitwise, ISCA 2024",
            "CC-BY-4.0, © Microsoft; cut to those minutes, rows unchanged",
        ),
    )


def path(name: str) -> Path:
    """The file of a sample. Raises UnknownName."""
    found = next((each for each in samples() if each.name == name), None)
    if found is None:
        names = [each.name for each in samples()]
        raise UnknownName("sample", name, names, _("one of {names}").format(names=", ".join(names)))
    return _FOLDER / found.file
