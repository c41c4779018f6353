"""Data of training: corpora, catalogues, true boxes, synthetic scenes.

`corpus` has the examples, `readers` finds the reader of a folder, `batches` mixes pairs,
`templates` makes texts of a catalogue's fields, and `vocabulary` counts words.
"""
