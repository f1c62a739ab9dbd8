"""Outcomes of a point that ends before it has run."""

__all__ = ["REFUSED", "STALE"]

REFUSED = "refused"
STALE = "stale"  # in a process that has loaded other sources; told by that alone, and no row's status
