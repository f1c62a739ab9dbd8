"""Studies of many runs: sweeps, searches, suites, and the comparison, check and ablation of machines."""
