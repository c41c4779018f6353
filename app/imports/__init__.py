"""Imports of items: from folders, .jsonl files, tables of products and addresses.

`folder` and `item_lines` find `sources`, `settling` compares them with what is stored, `storing`
stores them on this machine and `cluster` on Ray, and `departed` names items whose files and rows
are gone. `folders` has what lets folders live: patterns, moved files, changes, object stores and
reports, and `tables` reads rows. `photo_decoders` run `decoder_process` for each
photo, `fetching` gets photos from the internet, and `progress` notes what remains.
"""
