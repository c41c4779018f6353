"""Grounders of the registry: boxes of a photo for the phrases of a text."""
