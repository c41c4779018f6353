"""Routes of the API and of the page, one file a subject.

The files of `answers` and `schemas` have the same names. `uploads` reads bodies and `dependencies`
has what routes are given; `bulk` and `edits` are the other routes of items.
"""
