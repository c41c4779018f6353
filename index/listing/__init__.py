"""Lists of items: order, pages, groups and facets.

`requests` has what is asked of a list, `paging` the order and its places, and `listing` makes pages
and counts. Searches of products and of photos choose and score the documents.
"""
