"""The index: stored items and exact search over their fragments.

Its layers import downwards.
The files here are values, and the language of filters. On them stand, in this order, `database` and
`catalog` (what is true), `segments` (rows on disk) and `documents` (metadata in memory), `backup`,
`search` (photos and sentences), and `products` and `cluster`.
"""
