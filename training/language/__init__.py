"""Language resources: the parser, the lexicon, ImageNet's class names."""
