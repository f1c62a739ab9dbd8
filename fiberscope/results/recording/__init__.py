"""Recorded states and waits of the components of a run, as a document and as a Perfetto trace."""
