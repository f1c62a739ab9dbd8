"""Report of a run: the document, its summary, drawings and comparison."""
