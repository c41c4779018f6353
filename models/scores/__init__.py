"""Scores of an image and a sentence, their links and phrases, and probabilities.

`scoring` has the scores; `kernels`, `byte_dots` and `reductions` compute them fast. `alignment`
turns links into phrases, `calibration` scores into probabilities. `offsets`, `terms`,
`correlation` and `distances` add to vectors.
"""
