"""Calibration: measured runs to the terms of a profile, with their spread."""
