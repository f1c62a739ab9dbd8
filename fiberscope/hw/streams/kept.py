"""Constants of line buffers and of tasks, for blocks and for the code that builds them."""

NO_LINE = -1  # line of an entry that lies in no line, because its element is known to be absent
NEVER = 1 << 30  # a stop level higher than that of any stream
NO_STOP = -1  # level of the stop that a reducer owes if it owes none
NO_STREAM = -1  # number of a cut's stream if no stream selects the instance by its coordinates
EACH = -1  # in place of a stop level: every element empties the buffer
