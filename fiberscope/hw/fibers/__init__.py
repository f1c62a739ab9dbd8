"""Fibers in memory: their formats, components that read, merge, intersect and write them, and allocators.

A *fiber* is a sequence of elements with increasing coordinates, such as a row of a sparse matrix.
"""
