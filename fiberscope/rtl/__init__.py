"""The blocks as RTL: their commands, the loop with a machine, the benches, their area."""
