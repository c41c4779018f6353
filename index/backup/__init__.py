"""Backup: snapshots of a catalog as files, and checks of stored data.

`snapshots` makes and restores one, `snapshot_folder` lists many, `archive` is the format of their
files, and `foreign_databases` checks a file from elsewhere before it is read.
"""
