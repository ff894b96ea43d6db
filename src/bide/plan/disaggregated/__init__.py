"""Fleets whose prompts are computed by other replicas than those that answer: how many of each, found by simulation."""
