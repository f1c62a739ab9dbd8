"""The twins of the stream machine's blocks, and their joining to a graph."""
