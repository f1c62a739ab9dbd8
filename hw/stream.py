"""The stream protocol of fibers, after the Sparse Abstract Machine (papers/sam.txt, Section 3).

A token is one element (coordinate, reference, value) or a stop that ends a fiber.
"""

STREAM = "stream"  # protocol of ports

DATA = 0
STOP = 1

# Protocol of ports that tell the source of a fiber what is no longer wanted of it. Control DATA: the elements
# below this coordinate; control STOP: all that are left. Reference: the fiber's number, counted from 0 and
# modulo FIBER_NUMBERS, so that a skip that comes late is known as such.
SKIP = "skip"
FIBER_NUMBERS = 1 << 15
