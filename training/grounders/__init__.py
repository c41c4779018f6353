"""Grounders: presets, objectives of phrases and regions, and the training.

They learn which box a phrase means, with true boxes or without.
"""
