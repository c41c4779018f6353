"""Engines in races over the same bags.

Tessera, numpy, torch, FAISS, qdrant, LanceDB.
"""
