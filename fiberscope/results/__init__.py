"""Results of a run: reports, stores, costs, provenance, recordings and drawings."""
