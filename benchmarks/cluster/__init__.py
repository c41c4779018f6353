"""Searches and imports on a Ray cluster: `python -m benchmarks.cluster`.

And a model of growth.
"""
