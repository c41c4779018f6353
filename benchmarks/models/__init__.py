"""Models: what captions, boxes, negation and encoders are worth, and what they cost."""
