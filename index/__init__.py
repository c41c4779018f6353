"""Bags in, hits out: the catalog of items, and exact search over their fragments."""
