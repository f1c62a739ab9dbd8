"""Formal properties of RTL blocks: assumptions on inputs, claims, covers, and their proof by Yosys."""
