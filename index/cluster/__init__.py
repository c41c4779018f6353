"""Search over shards on a Ray cluster.

Each has some of every collection's items.
`cluster` starts the actors, `server` is what an actor runs, `connections` and `questions` carry
requests to them, and `merged` is an index that merges their answers.
"""
