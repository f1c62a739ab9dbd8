"""What a run costs: energy and area, by the file ``costs.yaml`` of a machine."""
