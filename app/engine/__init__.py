"""The engine: models, catalog and indexes together; knows no HTTP.

`engine` opens and searches collections, `inference` runs the networks, `product_search` searches
items by words and looks, `drafts` embeds what is to be stored, `titles` embeds new titles, `bounds`
limits a caller to some collections, `refusals` says why an item is not stored, `cluster` opens
shards on Ray.
"""
