"""Answers of routes: read a request's schema, ask the engine, and write the answer's schema.

The files are named like those of app.routes and app.schemas; `queries`, `cursors`, `fragments` and
`filters` are what several of them share.
"""
