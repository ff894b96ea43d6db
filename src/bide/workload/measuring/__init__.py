"""Measures of a trace: lengths and their certainty, arrivals, prefix reuse, sessions."""
