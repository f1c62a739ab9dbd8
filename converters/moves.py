"""What a unit does to rows: lets them out later, in the cycle in which they come, or packed."""

PIPE, PASS, PACK = range(3)
