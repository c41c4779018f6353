"""Metadata of photos and videos from their files: dates, places, words."""
