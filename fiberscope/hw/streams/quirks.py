"""Quirks of the public simulator that a block can reproduce, as bits numbered as in docs/graph_reference.md.

A quirk is a behavior of the simulator weiya711/sam (at 6e477d1) that hardware would not have. The argument
``quirks`` of a block is a mask of these bits; a block ignores bits that do not concern it. With ``NO_QUIRKS``
the block behaves as hardware would. With ``PUBLIC`` it reproduces the cycles and tokens of that simulator.
"""

Q0 = (
    1 << 0
)  # a block sees the token after the one that it pops, in the same update; not in docs/graph_reference.md
Q2 = 1 << 2  # joiners compare a pair only when its successor is queued on both sides
Q4 = 1 << 4  # a compressed scanner in mid-fiber needs a queued token to go on
Q5 = 1 << 5  # for an N, a scanner sends N and a stop instead of only the stop of an empty fiber
Q6 = 1 << 6  # a dense scanner does not accept a stop or N instead of a reference
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
Q21 = (
    1 << 21
)  # split loses the outer coordinate of a fiber that starts in the chunk in which the last one ended
Q22 = 1 << 22  # flatten loses an inner token if the outer one is late
Q25 = 1 << 25  # an accumulator's values leave without stops

NO_QUIRKS = 0
PUBLIC = (
    Q0 | Q2 | Q4 | Q5 | Q6 | Q7 | Q8 | Q9 | Q10 | Q11 | Q12 | Q13 | Q14 | Q15 | Q16 | Q17 | Q18 | Q19 | Q20
    | Q21 | Q22 | Q25
)  # fmt: skip
