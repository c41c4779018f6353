"""Language resources that ship: the parser, the lexicon, and the names of ImageNet's classes."""
