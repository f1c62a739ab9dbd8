"""The public simulator's quirks that a block can have: one bit each, numbered as in docs/graph_reference.md.

A block takes a mask of them. ``CLEAN`` is hardware as one would build it; ``PUBLIC`` gives the cycles and
tokens of the public simulator (weiya711/sam at 6e477d1).
"""

Q0 = 1 << 0  # a block sees the token behind the one that it takes, in the same update: not in that list
Q2 = 1 << 2  # joiners compare a pair only when its successor is queued on both sides
Q4 = 1 << 4  # a compressed scanner in mid-fiber needs a queued token to go on
Q5 = 1 << 5  # a scanner answers N by N and a stop, not by the stop of an empty fiber alone
Q6 = 1 << 6  # a dense scanner takes no stop or N where a reference is due
Q7 = 1 << 7  # a skip that does not apply at a fiber's first element makes a scanner repeat its last token
Q8 = 1 << 8  # intersect emits N for N, and drops the other side's head as well
Q9 = 1 << 9  # an N coordinate survives a union
Q10 = 1 << 10  # a bit-vector scanner does not raise the level of a bare stop
Q11 = 1 << 11  # intersect drops unequal stops
Q12 = 1 << 12  # a repeater loses a signal that comes before its first reference
Q13 = 1 << 13  # an ALU passes an integer that meets a stop
Q14 = 1 << 14  # the scalar reducer starts again after done
Q15 = 1 << 15  # the scalar reducer gives a zero for an empty fiber
Q16 = 1 << 16  # a compressed writer forgets empty fibers
Q17 = 1 << 17  # the vector accumulator emits a coordinate that comes back again, with running totals
Q18 = 1 << 18  # the matrix accumulator fails on empty input
Q19 = 1 << 19  # a dropper leaves the stops of the inner fibers that it drops
Q20 = 1 << 20  # the chunker chunks one fiber only
Q21 = 1 << 21  # split loses an outer coordinate where a fiber begins in the chunk that the last one ended in
Q22 = 1 << 22  # flatten loses an inner token if the outer one is late
Q25 = 1 << 25  # an accumulator's values leave without stops

CLEAN = 0
PUBLIC = (
    Q0 | Q2 | Q4 | Q5 | Q6 | Q7 | Q8 | Q9 | Q10 | Q11 | Q12 | Q13 | Q14 | Q15 | Q16 | Q17 | Q18 | Q19 | Q20
    | Q21 | Q22 | Q25
)  # fmt: skip
