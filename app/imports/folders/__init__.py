"""Living folders: patterns, moved files, changes, object stores, reports."""
