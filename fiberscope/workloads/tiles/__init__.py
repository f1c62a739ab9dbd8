"""Tensors cut into tiles of their coordinate space: which of them hold something, and how much."""
