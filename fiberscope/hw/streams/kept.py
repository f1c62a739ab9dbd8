"""Constants of kept lines, for blocks that wait for memory and their builders."""

NO_LINE = -1  # of an entry that lies in none: what it names is known to be absent
NEVER = 1 << 30  # a level of stops that no stream has
EACH = -1  # every element lets the lines go
