"""Folders of photos as phones and cameras leave them."""
