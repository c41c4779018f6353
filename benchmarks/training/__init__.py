"""Trainings: their speed on a GPU, and what they give.

`digests` shows whether a change leaves training as it was. Each runs alone.
"""
