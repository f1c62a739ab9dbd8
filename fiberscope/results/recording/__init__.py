"""What the components of a run did over time, and for whom they waited: as a document, and for Perfetto."""
