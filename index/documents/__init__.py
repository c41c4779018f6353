"""Documents: the metadata and words of all items of a collection, in memory.

`columns` has metadata values, `bm25` scores words, `query_words` reads the words of a query, and
`reader` brings both up to date with the catalog.
"""
