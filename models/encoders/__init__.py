"""Pretrained encoders: CLIP, SigLIP, SigLIP 2 and TIPSv2, and retrievers like ColPali.

A family is a module with `Photos`, `Texts` and `scale`. `source` and `layouts` find weights in a
folder, `contributions` and `occlusion` divide an encoder's vector among words and boxes.
`late_interaction` has retrievers with a vector a token, `modules` which of these count.
"""
