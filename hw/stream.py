"""The stream protocol of fibers, after the Sparse Abstract Machine (papers/sam.txt, Section 3).

A token is one element (coordinate, reference, value) or a stop that ends a fiber.
"""

STREAM = "stream"  # protocol of ports

DATA = 0
STOP = 1
