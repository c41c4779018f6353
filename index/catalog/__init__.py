"""The catalog: items, their pictures and the names of collections.

Every change is a transaction of a database.
`catalog` and `reader` are its two classes, `write_rows` and `read_rows` turn items into rows and
back. Further files have one kind of change each: edits, re-embedding, garbage, ownership.
"""
