"""Proposals of boxes: presets, and a detector's training."""
