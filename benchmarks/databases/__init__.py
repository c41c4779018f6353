"""Measurements of the databases.

The package itself is the command of all work.
`searches` is a part of it; `editing_speed` and `snapshot_speed` run alone.
"""
