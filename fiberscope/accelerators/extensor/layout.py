"""Protocols between ExTensor's parts, and the numbers of its tensors."""

from fiberscope.sim.protocol import Protocol

# Tensor numbers, the upper bits of an address.
A = 0
B = 1
PARTIAL = 2
Z = 3

# What a report calls the tensors, with the numbers that count for each.
TENSORS = {"A": (A,), "B": (B,), "PO": (PARTIAL,), "Z": (Z,)}

HALVES = 2  # of the last-level buffer: one in use, one filling or draining
SPARE_SLOTS = 2  # of a core: the one being filled, and one that is just being emptied

# A half is that of the output tile, a row that of microtiles within it.
PAIR = Protocol("tile pair", coordinate="a", reference="b")
PRODUCT = Protocol("microtile product", control="half", coordinate="a", reference="b")
PARTIALS = Protocol("partial outputs", control="half", coordinate="slot", reference="row")  # or NOTHING
# A row and its microtile products; or TILE and its rows.
ROW = Protocol("output row", control="half", coordinate="row", reference="count")
SIGNAL = Protocol("signal", control="half")

NOTHING = -1
TILE = -1  # ahead of the rows of a tile: how many there will be
