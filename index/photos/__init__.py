"""Photo search with words, dates, order and facets, over the searches by looks.

`search` lists and counts photos; `requests` has what goes in and comes out.
"""
