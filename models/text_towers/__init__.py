"""Text towers of the registry: sentences to bags of fragments in the joint space.

`minilm` ships, `pretrained` serves adopted encoders, the others are those of papers.
"""
