"""Access: which caller may do what.

`door` admits callers of routes by their roles. `keys` are names, roles and hashes, `key_file` the
file that holds them and `keyring` the keys that are known now. `sessions` are cookies of the page,
and `quotas` limit the requests of each caller.
"""
