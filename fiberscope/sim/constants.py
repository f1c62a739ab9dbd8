"""Numbers that the compiled modules share. Each module copies them as C constants."""

NEVER = -1  # result of a tick: sleep until a channel wakes the component
MAX_TIME = 1 << 60  # later than any cycle or time
LOOKAHEAD_CYCLES = 4096  # maximum lead of a lookahead model before the clock, in cycles

# Accounting states of a component. From FIRST_STALL on: the stalls at each port, in the order of the ports.
BUSY = 0
IDLE = 1
FIRST_STALL = 2

DRAINED, LIMIT, STOPPED, INTERRUPTED, SLICE_END = range(5)  # reasons of a return from the kernel's inner loop
