"""The size of a line of memory: a converter's port to memory transfers one line per cycle."""

LINE_BYTES = 64
LINE_BITS = 8 * LINE_BYTES
