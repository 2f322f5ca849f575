"""The mathematics of medgen-bench, and the `evaluate` modules that wrap it.

Pure functions and scorers: a batch in, one `Row` a sample out. Nothing here knows where records come from.
"""

__version__ = "0.1.0"
