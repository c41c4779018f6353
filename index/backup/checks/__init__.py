"""Checks of a data folder: damage, and its repair.

`everything` runs the checks of the database, of items and of segments.
"""
