"""Photo search with words, dates, order and facets.

`search` lists and counts photos; `requests` has what goes in and comes out.
"""
