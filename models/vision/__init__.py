"""Photos: decoding, backbones, proposals of boxes, and features of regions.

`photo_decoding` decodes a file, with `jpeg_scans`, `png_chunks` and `upright`; `images` gives
tensors. `sight` has the frozen parts of image
towers: a backbone (`backbones`, `lite`) over a photo and its boxes (`proposals`, `regions`).
"""
