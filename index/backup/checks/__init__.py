"""Checks of a data folder: what is wrong with it, and what mends that."""
