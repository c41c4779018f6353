"""Metrics of captions: BLEU, METEOR, ROUGE-L, CIDEr-D, SPICE and hallucination.

`measure` measures all of them, `naming` measures captions of photos without sentences, and
`tables` formats both.
"""
