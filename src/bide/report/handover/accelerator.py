"""How Kubernetes names GPUs: the resource that a device plugin offers, and the label that tells products apart."""

from __future__ import annotations

from dataclasses import dataclass

from bide.facts.gpus import Gpu


@dataclass(frozen=True, slots=True)
class Accelerator:
    """The names of one kind of GPU in a cluster; `products` is empty where no label for them is known."""

    resource: str
    """Of the vendor's device plugin."""
    label: str
    products: tuple[str, ...]
    """Values of the label."""
    chart_type: str
    """In llm-d's charts."""

    @property
    def terms(self) -> list[dict[str, object]]:
        """Node selector terms for these products; empty where none is known."""
        if not self.products:
            return []
        return [{"matchExpressions": [{"key": self.label, "operator": "In", "values": list(self.products)}]}]


def accelerator_of(gpu: Gpu) -> Accelerator | None:
    """None for vendors whose device plugins are not known here.

    NVIDIA: k8s-device-plugin's gpu-feature-discovery writes nvidia.com/gpu.product, the name that nvidia-smi prints
    with dashes for spaces. AMD: ROCm's k8s-device-plugin has no label by product that was verified.
    """
    if gpu.vendor == "nvidia":
        products = tuple(name.replace(" ", "-") for name in gpu.aliases)
        return Accelerator("nvidia.com/gpu", "nvidia.com/gpu.product", products, "nvidia")
    if gpu.vendor == "amd":
        return Accelerator("amd.com/gpu", "", (), "amd")
    return None
