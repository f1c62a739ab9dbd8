"""What a run leaves behind: reports, stores, costs, provenance, recordings and drawings."""
