"""The stream protocol of fibers, after the Sparse Abstract Machine (papers/sam.txt, Section 3).

A token is one element (coordinate, reference, value) or a stop that ends a fiber.
"""

from fiberscope.sim.protocol import Protocol

STREAM = Protocol("stream", control="kind", coordinate="coordinate", reference="reference", value="value")

DATA = 0  # kinds
STOP = 1
EMPTY = 2  # of a lane that has nothing, in a row of lanes that move together

# Of ports that tell the source of a fiber what is no longer wanted of it. DATA: the elements below this
# coordinate; STOP: all that are left. The fiber is its number, counted from 0 and modulo FIBER_NUMBERS, so
# that a skip that comes late is known as such.
SKIP = Protocol("skip", control="kind", coordinate="coordinate", reference="fiber")
FIBER_NUMBERS = 1 << 15

BITMAP = Protocol("words of bitmaps", control="operand", coordinate="word", reference="row")
ROW = 0  # operands: of the stationary one,
COLUMN = 1  # and of the streaming one

MASK = Protocol("words of masks", coordinate="word")
STEP = Protocol("intersection step", control="kind", coordinate="coordinate")
LAST = 1  # kinds, of which a step may be both: with it a fiber has come to its end,
MET = 2  # and the heads were equal
