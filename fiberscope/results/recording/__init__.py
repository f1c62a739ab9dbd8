"""States of the components of a run over time, and their waits: as a document, and for Perfetto."""
