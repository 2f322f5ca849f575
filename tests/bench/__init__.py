"""Benchmarks: ratios between ways of doing the same work, in one run. `make bench` prints them."""
