"""Tools for the twins: HDL simulators, lint, area and power."""
