"""Matchers: presets, pairs, objectives, teachers and the training.

`train` shows the order of a training: prepare, fit, report. `calibration` gives scores
probabilities, `average` averages trained matchers, and `terms` learns those of a catalogue.
"""
