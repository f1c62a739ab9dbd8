"""Costs of a run: energy and area, by the file ``costs.yaml`` of a machine."""
