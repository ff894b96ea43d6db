"""Replicas behind a router: where each request goes, when replicas are there, and what clients do when they wait."""
