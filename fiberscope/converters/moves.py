"""What a unit does to rows: lets them out later, in the cycle in which they come, or packed."""

PIPE, PASS, PACK = range(3)
ENDED = 1 << 32  # of a row on its way: an array ends with it; below, how many items it has
