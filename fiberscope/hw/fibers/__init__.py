"""Fibers in memory: how matrices lie there, who reads and writes them, and where new ones are put."""
