"""Put what bide says into the examples of docs/step-times.md: `python tools/step_time_examples.py`.

A marker is `<!-- example: NAME -->`, closed by `<!-- end of example -->`. Run it when the profile has changed.
`--check` changes nothing and exits 1 where the page says something else.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from bide.facts.deployment import Deployment
from bide.facts.hf import from_config
from bide.simulate.curve import curve_of, points
from bide.simulate.operating import Curve, Load, Mix, Parts, Point

PAGE = Path(__file__).resolve().parents[1] / "docs" / "step-times.md"
EXAMPLE = re.compile(r"(<!-- example: (?P<name>\w+) -->\n)(?P<shown>.*?)(<!-- end of example -->)", re.DOTALL)
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 6144,
    "intermediate_size": 25_088,
    "num_hidden_layers": 60,
    "num_attention_heads": 48,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 152_064,
    "max_position_embeddings": 32_768,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
"""A model of 34.9 billion parameters."""
PARTS = ("weights_s", "kv_s", "compute_s", "network_s", "overhead_s")


def once() -> list[str]:
    """One set of weights for the whole batch; every cache of its own."""
    deployment, mix = Deployment.resolve({"model": "llama-3.1-8b", "gpu": "h100-sxm"}), Mix(1000, 500)
    loads = [Load("concurrency", float(n)) for n in (1, 8, 64)]
    return _steps(curve_of(deployment, mix, loads))


def outweighs() -> list[str]:
    """49 GB of cache beside 35 GB of weights."""
    model = from_config(CONFIG, "35b")
    deployment, mix = Deployment.resolve({"model": model, "gpu": "h200-sxm", "weights": "fp8"}), Mix(1000, 2000)
    curve = curve_of(deployment, mix, [Load("concurrency", float(n)) for n in (1, 50, 100)])
    at = f"{curve.kv_outweighs_weights_at:.0f}"
    return [*_steps(curve), "", f"The cache outweighs the weights from {at} requests on."]


def twice() -> list[str]:
    """Twice the GPUs at the same load."""
    lines = ["| clients | tp 2 | tp 4 | two replicas of tp 2 |", "|---:|---:|---:|---:|"]
    for clients in (4.0, 16.0, 64.0):
        before, wider, second = (_e2e_s(tp, n, "fp8") for tp, n in ((2, clients), (4, clients), (2, clients / 2)))
        cells = [f"{before:.1f} s", *(f"{s:.1f} s ({s / before - 1:+.0%})" for s in (wider, second))]
        lines.append(f"| {clients:.0f} | " + " | ".join(cells) + " |")
    return lines


def _e2e_s(tp: int, clients: float, weights: str) -> float:
    raw = {"model": "llama-3.1-70b", "gpu": "h200-sxm", "tp": tp, "weights": weights}
    (point,) = points([(Deployment.resolve(raw), Mix(1000, 500), Load("concurrency", clients))])
    assert point.e2e_s is not None
    return point.e2e_s


def _steps(curve: Curve) -> list[str]:
    """A row for each point: the parts of a step that only decodes, in ms, and what they bring."""
    heads = ("requests", "weights", "cache", "compute", "network", "overhead", "a step", "tokens/s")
    return ["| " + " | ".join(heads) + " |", "|---:" * len(heads) + "|", *(_row(point) for point in curve.points)]


def _row(point: Point) -> str:
    parts = point.tpot_parts
    assert isinstance(parts, Parts)
    assert point.itl_s is not None
    each = [f"{getattr(parts, name) * 1e3:.1f}" for name in PARTS]
    cells = [f"{point.running_requests:.0f}", *each, f"{point.itl_s * 1e3:.1f} ms", f"{point.output_tokens_per_s:,.0f}"]
    return "| " + " | ".join(cells) + " |"


EXAMPLES: dict[str, Callable[[], Iterable[str]]] = {"once": once, "outweighs": outweighs, "twice": twice}


def fresh(text: str) -> str:
    """The page with every example as bide has it now."""
    return EXAMPLE.sub(lambda found: found[1] + "\n".join(EXAMPLES[found["name"]]()) + "\n" + found[4], text)


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv[1:]:
        return int(fresh(text) != text)
    PAGE.write_text(fresh(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
