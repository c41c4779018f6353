"""Grounders of the registry: boxes of a text's phrases in photos."""
