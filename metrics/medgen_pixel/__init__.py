"""Pixel similarity as an `evaluate` module."""
