"""Tessera's web service and commands."""

__version__ = "0.1.0"
