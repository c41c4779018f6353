"""The results page: stored measurements in, Markdown out.

`page` writes it; `systems` and `claims` have the papers' numbers and claims, `checkpoints`,
`boxes`, `captions` and `region_captions` write sections, and `reproduce` trains missing rows.
"""
