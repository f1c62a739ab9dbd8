"""Tensors cut into tiles of their coordinate space: the non-empty tiles, and their sizes."""
