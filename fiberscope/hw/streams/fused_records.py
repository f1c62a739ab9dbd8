"""Memory layout of a fused chain: the records of its channels and of its blocks, in words.

A channel has a ring of slots. Token number n of the channel is in slot n modulo the size of the ring. A slot
also has the cycle in which its last token was popped, from which the writer knows when the slot was free.
"""

# Words of a slot.
TOKEN = 0  # the payload above KIND_BITS bits with the kind
ARRIVAL = 1  # cycle from which the token is visible
VALUE = 2  # value of the token, as the bits of a double
POPPED_AT = 3  # cycle in which the token was popped
SLOT_BITS = 2  # log2 of the words of a slot
KIND_BITS = 2
KIND_MASK = 3

# Words of the record of a channel.
PUSHED = 0  # tokens pushed so far
POPPED = 1  # tokens popped so far
CAPACITY = 2  # tokens that the channel holds; ``MAX_TIME`` for no bound
SLOTS = 3  # first word of the ring
MASK = 4  # size of the ring less 1
LATENCY = 5
READER_STATE = 6  # accounting state of the reader while it waits for a token
WRITER_STATE = 7  # accounting state of the writer while it waits for a slot
WRITER = 8  # record of the block that writes
SINK = 9  # number of the real channel if a component outside of the chain reads it, else -1
FREE_FROM = 10  # for a sink: cycle from which a slot was free when the channel was last asked
WAS_FULL = 11  # for a sink: whether no slot was free then
NEXT = 12  # record of the channel to the next reader of the same stream; 0 for none
FOLLOWING = 13  # record of the next channel; 0 for none
CHANNEL = 14  # words of the record

# Words of the record of a block.
CLASS = 0  # its class: PAIRS, LOAD, PRODUCT, REDUCE, POINTS or END
NUMBER = 1  # index of the block in the chain
POSITION = 2  # first cycle that is not accounted
BUSY_UNTIL = 3  # cycles before it are busy
DUE = 4  # cycle in which the model must tick for the next update; ``MAX_TIME`` for none
STATE = 5  # accounting state of the last accounted cycle
LAST = 6  # cycle of the last update
FIRST_INPUT = 7  # first cycle in which the block saw a token; -1 before
IS_DONE = 8
INPUTS = 9  # number of inputs
OUTPUTS = 10  # number of output streams
BOUNDS = 11  # number of its bounded output channels
CONDITIONS = 12  # number of conditions
INPUT = 13  # records of the channels at the inputs, in the order of the ports
OUTPUT = INPUT + 8  # records of the first channels of the output streams; 0 for a stream without a reader
BOUND = OUTPUT + 8  # records of the bounded channels
TOKENS = BOUND + 8  # tokens of each output stream by kind, since the accounts were settled
CYCLES = TOKENS + 4 * 8  # cycles by accounting state, since the accounts were settled
# What the next update waits for, by priority: the cycle in which the wait ends, and its accounting state.
CONDITION = CYCLES + 32
BLOCK = CONDITION + 2 * 16  # words of the record

MOST_STREAMS = 8  # inputs, and channels of output streams, of a block

UNBOUNDED_SLOTS = 512  # size of the ring before a ``TaskEnd``, which pops each token at its arrival
NEAR = 254  # cycles that a chain runs ahead: their tokens fit in these slots, and in the wheel of a clock

PAIRS, LOAD, PRODUCT, REDUCE, POINTS, END = range(6)
