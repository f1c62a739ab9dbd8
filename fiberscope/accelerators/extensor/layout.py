"""Protocols between the parts of ExTensor, and the numbers of its tensors."""

from fiberscope.sim.protocol import Protocol

# Tensor numbers, the upper bits of an address.
A = 0
B = 1
PARTIAL = 2
Z = 3

# The names of the tensors in a report, each with the tensor numbers whose traffic it includes.
TENSORS = {"A": (A,), "B": (B,), "PO": (PARTIAL,), "Z": (Z,)}

HALVES = 2  # halves of the last-level buffer: one in use, the other filling or draining
SPARE_SLOTS = 2  # slots of a core that are not on their way: one being filled, one being emptied

# In these protocols, a half is the half of an output tile, and a row a row of microtiles in this tile.
PAIR = Protocol("tile pair", coordinate="a", reference="b")
PRODUCT = Protocol("microtile product", control="half", coordinate="a", reference="b")
# The slot that holds a product's partial outputs, or NO_SLOT.
PARTIALS = Protocol("partial outputs", control="half", coordinate="slot", reference="row")
# A row and its number of microtile products, or TILE and the tile's number of rows.
ROW = Protocol("output row", control="half", coordinate="row", reference="count")
SIGNAL = Protocol("signal", control="half")

NO_SLOT = -1  # slot of a product without partial outputs
TILE = -1  # row of the token that precedes the rows of a tile and carries their number
