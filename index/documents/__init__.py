"""Documents: items' metadata and sentences in memory.

`reader` follows the catalog, `documents` holds the items, `columns` their values by key, `bm25`
their words; `words` folds and stems, and `query_words` reads the words of a query.
"""
