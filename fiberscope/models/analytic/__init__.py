"""Analytical model: estimate the cost of a mapping from statistics of its tensors, without simulation."""
