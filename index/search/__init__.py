"""Search for photos and sentences: from a query to exact hits.

`shortlist` chooses rows by candidates or a `scan`, `contenders` and `ranking` order them, and
`exact` computes final scores from stored bags. `index` is one collection, `indexes` all of them.
"""
