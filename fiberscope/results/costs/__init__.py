"""Energy and area of a run, computed from the file ``costs.yaml`` of a machine."""
