"""Self-contained pages: the templates beside this file, filled in."""

from __future__ import annotations

from pathlib import Path

from bide.i18n import _, language

_TEMPLATES = Path(__file__).with_name("templates")
WIDE, NARROW = 750, 340
"""Every chart is drawn twice, because text in a scaled-down picture cannot be read."""


def page(template: str, **values: object) -> str:
    """The page; a template that asks for a value that is not given is an error. Needs jinja2."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values, _=_, language=language())
