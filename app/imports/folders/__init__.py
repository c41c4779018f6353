"""Folders that live: patterns, moved files, changes, and reports of what was not read."""
