"""Scores of an image and a sentence, their links and phrases, and probabilities.

`scoring` has the scores; `kernels` and `reductions` compute them fast, and so do `byte_dots` and
`half_dots`, by a `processor`'s `instructions` (`avx2`, `avx512`). `alignment` turns links into
phrases of `word_groups`, `calibration` scores into probabilities. `offsets`, `terms`,
`correlation` and `distances` add to vectors.
"""
