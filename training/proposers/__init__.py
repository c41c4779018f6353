"""Proposals of boxes: presets, and the training of a detector on true boxes."""
