"""The page: four questions and a lesson, drawn with NiceGUI from the functions behind the command line."""

from __future__ import annotations

from bide.web.page.attach import CSP, attach

__all__ = ["CSP", "attach"]
