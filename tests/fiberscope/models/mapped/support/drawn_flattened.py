"""Products with flattened ranks or computed indices, and their tensors, drawn."""

from drawn_specifications import EITHER, RANKS, access, chip, orders, ranks_of_a_tensor, tensors
from hypothesis import strategies as st

from fiberscope.models.trace.specification import (
    Bindings,
    ComputeBinding,
    Einsum,
    Flatten,
    Follow,
    Spacetime,
    Specification,
    Split,
    Stamp,
    Tensor,
    UniformOccupancy,
    UniformShape,
)
from fiberscope.workloads.expressions.expression import Access, Equation, Index, Operation, Take


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
def programs_of(draw, expression, operands, used, shapes, parts, order, declared=None):
    """An expression with a mapping as a specification, and its tensors by name.

    What is ``declared`` are the ranks of tensors that are not read at their own.
    """
    ranks = {one.tensor: (declared or {}).get(one.tensor) or one.ranks for one in operands}
    output = tuple(draw(st.permutations(used))[: draw(st.integers(0, len(used)))])
    parallel = draw(st.integers(0, len(order)))
    stamps = [Stamp(rank) for rank in order]
    spacetime = Spacetime(tuple(stamps[:parallel]), tuple(stamps[parallel:]))
    declared = {name: Tensor(name, tuple(own), tuple(own)) for name, own in ranks.items()}
    trees = {name: draw(tensors(name, own, shapes)) for name, own in ranks.items()}
    declared["Z"] = Tensor("Z", output, draw(st.permutations(output).map(tuple)))
    bindings = Bindings("Chip", compute=(ComputeBinding("ALU", "mul"),))
    summed = (rank for rank in used if rank not in output)
    equation = Equation(access("Z", output), expression, "")
    einsum = Einsum("Z", equation, (*output, *summed), order, parts, spacetime, bindings=bindings)
    count = draw(st.sampled_from([1, 2, 3]))
    return Specification("drawn", declared, (einsum,), shapes=shapes, configurations=chip(count)), trees


@st.composite
def indices(draw, ranks):
    """A computed index of one rank or two, or a plain one."""
    chosen = draw(st.permutations(ranks))[: draw(st.integers(1, 2))]
    factors = [draw(st.sampled_from([1, 1, 1, 2, -1])) for _ in chosen]
    return Index(tuple(zip(chosen, factors, strict=True)), draw(st.sampled_from([0, 0, 1, -1])))


@st.composite
def shaped(draw, used, halos):
    """Ranks cut by shape, once or twice, and what follows them; the order of the loops.

    ``halos`` are by rank those of a tensor that are indexed by it.
    """
    parts, groups = [], []
    for rank in used:
        sizes = draw(st.lists(st.integers(1, 3), max_size=2))
        names = [f"{rank}{place}" for place in range(len(sizes), -1, -1)] if sizes else [rank]
        groups.append(names)
        if sizes:
            outer = [size * sizes[0] for size in sizes[1:]]
            cuts = tuple(UniformShape(size=size) for size in [*outer, sizes[0]])
            parts.append(Split(rank, tuple(names), cuts))
            for halo in halos.get(rank, ())[: draw(st.integers(0, 1))]:
                parts.append(Follow(halo, rank, tuple(f"{halo}{name[len(rank) :]}" for name in names)))
    return tuple(parts), draw(orders(groups))


@st.composite
def computed(draw):
    """A product of tensors some of which are read at computed indices, and its tensors by name.

    No tensor need have a rank of the loops alone. A rank may be cut, and a tensor's with it, with halos.
    """
    used = list(RANKS[: draw(st.integers(2, 3))])
    shapes = {rank: draw(st.integers(1, 5)) for rank in RANKS}
    read = {f"W{place}": draw(indices(used)) for place in range(draw(st.integers(1, 2)))}
    operands = [Access("A", tuple(read.values()))]
    if draw(EITHER):
        operands.append(access("B", draw(ranks_of_a_tensor(used))))
    left = sorted(set(used) - {rank for one in operands for index in one.indices for rank in index.ranks})
    operands += [access("C", left)] if left else []
    expression = operands[0] if len(operands) == 1 else Operation("*", tuple(operands))
    alone = {index.rank for index in read.values()}
    halos = {
        rank: [name for name, index in read.items() if rank in index.ranks]
        for rank in used
        if rank not in alone
    }
    parts, order = draw(shaped(used, halos))
    shapes |= {
        name: shapes[index.rank] if index.rank else draw(st.integers(1, 9)) for name, index in read.items()
    }
    return draw(programs_of(expression, operands, used, shapes, parts, order, {"A": list(read)}))
