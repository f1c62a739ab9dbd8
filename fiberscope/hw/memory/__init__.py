"""Caches, prefetchers, and memories within a machine."""
