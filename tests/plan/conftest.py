"""What the tests of this folder share."""

from plan_inputs import write

__all__ = ["write"]
