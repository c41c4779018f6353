"""Image towers of the registry: photos to bags of fragments.

`regions_in_context` ships, `pretrained` and `late_interaction` serve adopted encoders,
the others are those of papers.
"""
