"""Checks of a data folder: what is damaged in it, and what repairs that.

`everything` runs the checks of the database, of items and of segments.
"""
