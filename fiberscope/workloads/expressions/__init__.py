"""Expressions of tensors as text: what TeAAL's language and whoever reads it have in common."""
