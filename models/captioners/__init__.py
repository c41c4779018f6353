"""Captioners of the registry: language models over the features of photos.

`attentive` ships; `multimodal_rnn` is that of Karpathy & Fei-Fei (2015).
"""
