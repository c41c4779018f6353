"""The service: starts, imports, load, captions, product search, trips."""
