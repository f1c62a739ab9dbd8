"""The analytical model: what a mapping costs by its tensors' statistics, before any simulation."""
