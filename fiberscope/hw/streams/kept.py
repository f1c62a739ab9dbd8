"""Constants of kept lines and of tasks, for blocks and their builders."""

NO_LINE = -1  # of an entry that lies in none: what it names is known to be absent
NEVER = 1 << 30  # a level of stops that no stream has
NO_STREAM = -1  # none of a cut's streams has the coordinates that say an instance
EACH = -1  # every element lets the lines go
