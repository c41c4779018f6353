"""Matchers: presets, pairs, objectives, teachers and the training.

`train` shows the order of a training: prepare, fit, report. `preset` reads its options, `build`
makes the model, `frozen` its inputs, `matching` its batches and validation; `loss` adds up
`objectives`, `teachers` give scores to learn from, `folders` are where runs lie. Of trained
matchers, `calibration` gives probabilities, `average` one of several seeds, and `backbones` the
tuned CNN. `terms`, `term_training`, `strengths` and `term_search` learn the words of a catalogue.
`regression` solves without descent for calibrations and terms.
"""
