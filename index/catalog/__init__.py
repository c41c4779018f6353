"""The catalog: items, their pictures and the names of collections.

Every change is a transaction of a database.
`catalog` and `reader` are its two classes, `write_rows` and `read_rows` turn items into rows and
back, `views` are its contents as of a revision, and `stored_bags` reads vectors for searches.
`names` are those of collections, `revisions` their rows, `facets` filters as SQL. `pictures` keeps
display copies in a folder or an `object_store`, `sweeping` deletes unused ones, and `ownership`
with `owned_places` keeps other catalogs away. Further files have one kind of change each: `edits`,
`reembedding`, `restating`, `garbage`, `checksum_filling`.
"""
