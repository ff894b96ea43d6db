"""A load generator for OpenAI-compatible servers whose own clock can be trusted."""
