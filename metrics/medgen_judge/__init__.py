"""Text similarity and exact match as an `evaluate` module."""
