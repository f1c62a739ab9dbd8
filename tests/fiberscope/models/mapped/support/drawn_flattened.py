"""Products with ranks that are flattened into one, and their tensors, drawn."""

from drawn_specifications import EITHER, RANKS, access, chip, orders, ranks_of_a_tensor, tensors
from hypothesis import strategies as st

from fiberscope.models.trace.specification import (
    Bindings,
    ComputeBinding,
    Einsum,
    Flatten,
    Spacetime,
    SpaceTimeRank,
    Specification,
    Split,
    Tensor,
    UniformOccupancy,
    UniformShape,
)
from fiberscope.workloads.expressions.expression import Equation, Operation, Take


@st.composite
def factors(draw, ranks):
    """A of all ranks, and up to two tensors that may have others."""
    operands = [access("A", draw(st.permutations(ranks)))]
    for name in "BC"[: draw(st.integers(0, 2))]:
        operands.append(access(name, draw(ranks_of_a_tensor((*ranks, "L")))))
    return tuple(draw(st.permutations(operands)))


@st.composite
def mappings(draw, ranks, used):
    """Two ranks or three that become one, and the order of the loops.

    The last of them may be cut before, what they become after, and another rank in any case.
    """
    joined = list(draw(st.permutations(ranks))[: draw(st.integers(2, len(ranks)))])
    last = joined[-1]
    may_be_cut = [rank for rank in used if rank == last or rank not in ranks]
    shaped = {rank: UniformShape(size=draw(st.integers(1, 4))) for rank in may_be_cut if draw(EITHER)}
    parts = [Split(rank, (f"{rank}1", f"{rank}0"), (cut,)) for rank, cut in shaped.items()]
    above = [f"{last}1"] if last in shaped else []
    joined[-1] = f"{last}0" if above else last
    name = "".join(joined)
    counted = UniformOccupancy("A", draw(st.integers(1, 5)))
    cut = draw(st.sampled_from([None, counted, UniformShape(size=4)]))
    lower = (f"{name}1", f"{name}0") if cut else (name,)
    parts += [Flatten(tuple(joined), name), *([Split(name, lower, (cut,))] if cut else [])]
    pieces = [[f"{rank}1", f"{rank}0"] if rank in shaped else [rank] for rank in used]
    left = [group for rank, group in zip(used, pieces, strict=True) if rank not in (*joined, last)]
    return tuple(parts), draw(orders([*left, [*above, *lower]]))


@st.composite
def flattening(draw):
    """A product, or a take, of which ranks of A become one, and its tensors by name."""
    ranks = RANKS[: draw(st.integers(2, 3))]
    operands = draw(factors(ranks))
    expression = operands[0] if len(operands) == 1 else Operation("*", operands)
    if len(operands) > 1 and draw(st.integers(0, 5)) == 0:
        expression = Take(operands, draw(st.integers(0, len(operands) - 1)))
    used = sorted({rank for one in operands for rank in one.ranks})
    shapes = {rank: draw(st.integers(1, 6)) for rank in (*RANKS, "L")}
    parts, order = draw(mappings(ranks, used))
    return draw(programs_of(expression, operands, used, shapes, parts, order))


@st.composite
def programs_of(draw, expression, operands, used, shapes, parts, order):
    """An expression with a mapping as a specification, and its tensors by name."""
    output = tuple(draw(st.permutations(used))[: draw(st.integers(0, len(used)))])
    parallel = draw(st.integers(0, len(order)))
    stamps = [SpaceTimeRank(rank) for rank in order]
    spacetime = Spacetime(tuple(stamps[:parallel]), tuple(stamps[parallel:]))
    declared = {one.tensor: Tensor(one.tensor, one.ranks, one.ranks) for one in operands}
    trees = {one.tensor: draw(tensors(one.tensor, one.ranks, shapes)) for one in operands}
    declared["Z"] = Tensor("Z", output, draw(st.permutations(output).map(tuple)))
    bindings = Bindings("Chip", compute=(ComputeBinding("ALU", "mul"),))
    summed = (rank for rank in used if rank not in output)
    equation = Equation(access("Z", output), expression, "")
    einsum = Einsum("Z", equation, (*output, *summed), order, parts, spacetime, bindings=bindings)
    count = draw(st.sampled_from([1, 2, 3]))
    return Specification("drawn", declared, (einsum,), shapes=shapes, configurations=chip(count)), trees
