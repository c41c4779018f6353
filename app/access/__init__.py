"""Access: callers and their rights.

`door` admits callers of routes by their roles, within their `quotas`, and hands out the engine.
`credentials` are what a request brings, `keys` names, roles and hashes, `key_file` the file that
holds them and `keyring` the keys that are known now. `sessions` are cookies of the page. `users`
sign in elsewhere: a proxy names them, or `tokens` that are signed by keys of an `issuer`.
"""
