"""Provenance of a result: its sources, their repository, and the environment."""
