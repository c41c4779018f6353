"""Text towers of the registry: sentences to bags of fragments.

`minilm` ships, `pretrained` and `late_interaction` serve adopted encoders, the
others are those of papers.
"""
