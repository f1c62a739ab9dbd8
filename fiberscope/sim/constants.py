"""Numbers that the compiled modules share; each takes them over as a C constant."""

NEVER = -1  # what tick returns to sleep until a channel wakes the component
MAX_TIME = 1 << 60  # later than any cycle or time
LOOKAHEAD_CYCLES = 4096  # cycles that lookahead models may be ahead of the clock, at most

# Accounting states of a component. From FIRST_STALL on: one a port and direction, in the order of the ports.
BUSY = 0
IDLE = 1
FIRST_STALL = 2

DRAINED, LIMIT, STOPPED, INTERRUPTED, SLICE_END = range(5)  # why a kernel's inner loop returned
