"""Reproductions of published results: a module per paper runs its figures."""
