"""Measurements of trained models on a split.

`measure` measures a matcher by the modules of this folder: retrieval, localisation of phrases,
faithfulness of links, occlusion. `open_world` searches photos without sentences, `relevance`
compares runs with judgements, `tables` formats results, and `captions` measures captions.
"""
