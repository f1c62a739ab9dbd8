"""Statuses of a point that ends before its run."""

REFUSED = "refused"
STALE = "stale"  # the process has loaded other sources; no status of a row
