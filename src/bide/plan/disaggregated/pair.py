"""How many replicas compute prompts and how many answer."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    prefill: int
    decode: int

    @property
    def replicas(self) -> int:
        return self.prefill + self.decode

    def grown(self, prefill: int = 0, decode: int = 0) -> Pair:
        """With so many more (or fewer) of each."""
        return replace(self, prefill=self.prefill + prefill, decode=self.decode + decode)
