"""Requests and answers as pydantic models: the JSON of the API.

The files have the names of those in `routes`; `fields` has what several of them share.
"""
