"""Answers of routes: from a request's schema to the answer's.

The files are named like those of app.routes and app.schemas; `search` also reads the query of a
request, and `cursors`, `fragments` and `notes` are what several files share.
"""
