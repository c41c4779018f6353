"""The service: starts, imports, load, captions, product search, and the trip of a search."""
