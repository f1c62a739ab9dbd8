"""Units that take a row of lanes a cycle."""
