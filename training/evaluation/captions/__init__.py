"""Metrics of captions: BLEU, METEOR, ROUGE-L, CIDEr-D, SPICE and hallucination.

`descriptions` measures all of them, `naming` measures captions of photos without sentences, and
`tables` formats both.
"""
