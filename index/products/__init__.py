"""Search for products: words and looks in one ranking.

`requests` are its values, `query` reads a query, `ranking` ranks, and `completion` completes what
a person types.
"""
