"""Settings for the whole suite: property tests have no deadline, because a busy machine is not a bug."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("bide", deadline=None)
settings.load_profile("bide")
