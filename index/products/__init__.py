"""Product search: items by their words and by how their photos look, in one ranking.

`search` runs a search, `query` reads its text, `ranking` ranks, `requests` has what goes in and
comes out. `completion` completes what is typed.
"""
