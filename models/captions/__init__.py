"""Captions: language models over photos, decoding, support by a matcher, calibration.

`captioning` is the base of all captioners, `decoding` searches for sentences. `support` and
`region_captions` rank captions of photos and of regions with a matcher.
"""
