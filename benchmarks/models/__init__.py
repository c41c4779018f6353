"""Models: value and cost of captions, boxes, negation and encoders.

`caption_*`, `nearest_captions`, `region_support` and `snippet_alignment` are about captions;
`box_numbers` and `proposal_recall` about boxes; `encoder_*` and `embedding_speed` about encoders,
with `tiny_encoders` and `tiny_retrievers` to test on; `negation` and `title_similarity` about
scores. Each runs alone.
"""
