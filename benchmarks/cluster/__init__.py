"""Searches and imports on a Ray cluster, and a model of growth: `python -m benchmarks.cluster`."""
