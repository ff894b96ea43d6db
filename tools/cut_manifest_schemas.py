"""Write tests/report/schemas/*.json: the schemas that manifests and chart values are tested against, cut small.

Descriptions, titles, defaults and parts that bide never writes are left out. All three are Apache-2.0.

    python tools/cut_manifest_schemas.py keda.sh_scaledobjects.yaml production-stack/values.schema.json \\
        llm-d-modelservice/values.schema.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

SCHEMAS = Path(__file__).parents[1] / "tests/report/schemas"
PROSE = ("description", "title", "default", "examples")
SOURCES = {
    "keda-scaledobject": "kedacore/keda config/crd/bases/keda.sh_scaledobjects.yaml at 8b4f083ca8c8 (2026-08-20)",
    "production-stack-values": "vllm-project/production-stack helm/values.schema.json at a6c01db05f65 (2026-08-05)",
    "llm-d-values": "llm-d-incubation/llm-d-modelservice charts/llm-d-modelservice/values.schema.json at 3051935eb5a4 "
    "(2026-04-22)",
}
LEFT_OUT = ("initContainers", "cacheserverSpec", "loraAdapters", "loraController", "grafanaDashboards", "requester")


def cut(node: Any, *, names: bool = False) -> Any:
    """`node` without prose; `names`: its keys are names of properties, not of the schema language."""
    if isinstance(node, list):
        return [cut(item) for item in node]
    if not isinstance(node, dict):
        return node
    left_out = LEFT_OUT if names else PROSE
    return {key: cut(value, names=key == "properties") for key, value in node.items() if key not in left_out}


def main(keda: str, stack: str, llm_d: str) -> None:
    definition = yaml.safe_load(Path(keda).read_text(encoding="utf-8"))["spec"]["versions"][0]
    found = {
        "keda-scaledobject": definition["schema"]["openAPIV3Schema"],
        "production-stack-values": json.loads(Path(stack).read_text(encoding="utf-8")),
        "llm-d-values": json.loads(Path(llm_d).read_text(encoding="utf-8")),
    }
    for name, schema in found.items():
        noted = {"$comment": f"Cut from {SOURCES[name]}, Apache-2.0", **cut(schema)}
        text = json.dumps(noted, separators=(",", ":"))
        (SCHEMAS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
