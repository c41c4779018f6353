"""Text towers of the registry: sentences to bags of fragments.

`minilm` ships, `pretrained` serves adopted encoders, the others are those of papers.
"""
