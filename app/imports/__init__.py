"""Imports of items: from folders, .jsonl files, tables of products and addresses.

`folder` finds sources and stores them, on this machine; `cluster` does so on Ray. `tables` reads
rows by `table_formats` and `parquet`, with the mappings of `columns`. `photo_decoders` run
`decoder_process` for each photo, `fetching` gets photos from the internet, and `progress` notes
what remains.
"""
