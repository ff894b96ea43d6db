"""The only reader of Hugging Face's config.json: `from_config(config) -> Model`."""

from bide.facts.hf.reader import from_config

__all__ = ["from_config"]
