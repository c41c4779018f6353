"""Search of photos and sentences: query, shortlist, scan, contenders, exact scores, hits.

`index` runs the steps for one collection, and `indexes` opens the collections. `requests` has what
goes in and comes out, `query` the parts of a query, `rescorer` and `gpu` scores from codes,
`threads` the workers that share a search, `filter_bitmaps` filters, `audit` and `overview` what is
known about answers.
"""
