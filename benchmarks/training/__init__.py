"""Trainings: speed on a GPU, scores and digests.

`digests` shows whether a change leaves training as it was. Each runs alone.
"""
