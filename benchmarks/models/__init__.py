"""Models: value and cost of captions, boxes, negation and encoders."""
