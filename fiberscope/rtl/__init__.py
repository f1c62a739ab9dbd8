"""Blocks as RTL: commands, the loop with a machine, test benches, area and power."""
