"""Values with the place that they have in a file, and the YAML files that they are read from."""

from __future__ import annotations

from bide.located.reading import parse_yaml, read_yaml
from bide.located.value import Located, located

__all__ = ["Located", "located", "parse_yaml", "read_yaml"]
