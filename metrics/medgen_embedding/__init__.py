"""Embedding similarity as an `evaluate` module."""
