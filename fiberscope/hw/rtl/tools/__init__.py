"""The programs around the twins: HDL simulators, lint, area."""
