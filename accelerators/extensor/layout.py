"""What ExTensor's parts say to one another, and the numbers of its tensors."""

# Tensor numbers, the upper bits of an address.
A = 0
B = 1
PARTIAL = 2
Z = 3

# What a report calls the tensors, with the numbers that count for each.
TENSORS = {"A": (A,), "B": (B,), "PO": (PARTIAL,), "Z": (Z,)}

HALVES = 2  # of the last-level buffer: one in use, one filling or draining
JOBS = 8  # that a stream has accepted and not done, at the most
SLOTS = 4  # of a core: two on their way, the one being filled, and one that is just being emptied

# Protocols. A half is that of the output tile, a row that of microtiles within it.
PAIR = "tile pair"  # coordinate: tile of A, reference: tile of B
PRODUCT = "microtile product"  # control: half, coordinate: microtile of A, reference: microtile of B
PARTIALS = "partial outputs"  # control: half, coordinate: slot or NOTHING, reference: row
ROW = "output row"  # control: half, coordinate: row, reference: its microtile products; or TILE and its rows
SIGNAL = "signal"  # control: half

NOTHING = -1
TILE = -1  # ahead of the rows of a tile: how many there will be
