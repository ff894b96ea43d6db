"""The plain types that models, states and caches are kept in, by every name that configs and flags give them."""

from __future__ import annotations

DTYPES = {
    "fp32": "fp32",
    "float32": "fp32",
    "float": "fp32",
    "bf16": "bf16",
    "bfloat16": "bf16",
    "fp16": "fp16",
    "float16": "fp16",
    "half": "fp16",
}
"""Name -> the one name that we use; torch's own prefix is off."""
