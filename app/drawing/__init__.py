"""Pictures of alignments, groundings and captions, as SVG and PNG.

`explanations` has one function a kind of picture. `layout` places the photo, its boxes and labels,
`bars` the sentence with a bar on each phrase, and `lettering` has fonts and shapes.
"""
