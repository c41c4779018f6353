"""Measurements of trained models on a split.

`measure` measures a matcher by the modules of this folder: `retrieval`, `localisation` of phrases,
`faithfulness` of links, `occlusion`; `embedding` and `score_matrix` give them vectors and scores.
`open_world` searches photos without sentences, by `categories` and natural `queries`. `masking` is
about encoders, `proposals` about boxes. `average_precision` judges a ranking, `reliability` judges
probabilities, which `true_answers` are learned from, and `relevance` compares runs with judgements.
`outstanding_parts` looks inside a matcher, `tables` formats results, `captions` measures captions.
"""
