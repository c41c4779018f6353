"""Captioners: presets, datasets, objectives and the training.

`describe` captions a split as a service does, `calibration` gives captions probabilities, `kinds`
and `endings` change a trained captioner, `regions` and `snippets` are about parts of photos.
"""
