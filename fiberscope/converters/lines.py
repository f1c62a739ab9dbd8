"""Lines of memory, in which arrays of formats lie: what a converter's port moves in a cycle."""

LINE_BYTES = 64
LINE_BITS = 8 * LINE_BYTES
