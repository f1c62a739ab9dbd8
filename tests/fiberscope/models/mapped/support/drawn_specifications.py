"""Specifications of one Einsum with any mapping, and their tensors, drawn."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fiberscope.models.trace.program import BUILT_IN
from fiberscope.models.trace.specification import (
    Bindings,
    Component,
    ComputeBinding,
    Configuration,
    Einsum,
    IntersectorBinding,
    MergerBinding,
    Spacetime,
    Specification,
    Split,
    Stamp,
    Tensor,
    UniformOccupancy,
    UniformShape,
)
from fiberscope.workloads.expressions.expression import (
    Access,
    Equation,
    Index,
    Number,
    Operation,
    Take,
    accesses,
)
from fiberscope.workloads.fibertree import FiberTree

RANKS = ("I", "J", "K")
PAIR = 2  # that an intersector takes
EITHER = st.booleans()
SIZES = st.integers(0, 3)  # of a piece; 0 of what is not cut


def access(name, ranks):
    """A tensor at plain indices."""
    return Access(name, tuple(Index(((rank, 1),)) for rank in ranks))


@st.composite
def ranks_of_a_tensor(draw, ranks):
    """Some of the ranks, in any order."""
    return draw(st.permutations(ranks))[: draw(st.integers(1, len(ranks)))]


@st.composite
def expressions(draw, ranks):
    """A product, a take, or a sum or difference of tensors that have all ranks."""
    kind, count = draw(st.integers(0, 5)), draw(st.integers(1, 3))
    if kind == 4:
        return Operation(
            draw(st.sampled_from("+-")), tuple(access(name, draw(st.permutations(ranks))) for name in "AB")
        )
    operands = tuple(access("ABC"[place], draw(ranks_of_a_tensor(ranks))) for place in range(count))
    if count == 1:
        return operands[0]
    return Take(operands, draw(st.integers(0, count - 1))) if kind == 5 else Operation("*", operands)


@st.composite
def nested_sums(draw, ranks):
    """Sums, differences and products of each other, of two to five tensors that have all ranks."""
    parts = [access(name, draw(st.permutations(ranks))) for name in "ABCDE"[: draw(st.integers(2, 5))]]
    while len(parts) > 1:
        operator, place = draw(st.sampled_from("*+-")), draw(st.integers(0, len(parts) - 2))
        pair = tuple(parts[place : place + 2])
        if draw(st.integers(0, 5)) == 0:
            pair = (Operation("*", (Number(draw(st.integers(2, 3))), pair[0])), pair[1])
        parts[place : place + 2] = [Operation(operator, pair)]
    return parts[0]


@st.composite
def led_products(draw):
    """A product, or a take, of a tensor of ranks I and J, and others that lack I."""
    operands = [access("A", draw(st.permutations("IJ")))]
    for name in "BC"[: draw(st.integers(1, 2))]:
        operands.append(access(name, draw(st.sampled_from(["J", "JK", "KJ"]))))
    operands = tuple(draw(st.permutations(operands)))
    selected = draw(st.integers(-1, len(operands) - 1))
    return Take(operands, selected) if selected >= 0 else Operation("*", operands)


@st.composite
def cuts(draw, expression, rank):
    """A rank cut once, or not at all."""
    having = [one.tensor for one in accesses(expression) if rank in one.ranks]
    kind = draw(st.integers(0, 4))
    if kind == 3:
        return Split(rank, (f"{rank}1", f"{rank}0"), (UniformShape(size=draw(st.integers(1, 4))),))
    if kind == 4:
        piece = UniformOccupancy(draw(st.sampled_from(having)), draw(st.integers(1, 3)))
        return Split(rank, (f"{rank}1", f"{rank}0"), (piece,))
    return None


@st.composite
def orders(draw, loops):
    """The loops, pieces of one rank from the outside in."""
    order = []
    loops = [list(group) for group in loops]
    for place in draw(st.permutations([place for place, group in enumerate(loops) for _ in group])):
        order.append(loops[place].pop(0))
    return tuple(order)


@st.composite
def tensors(draw, name, ranks, shapes):
    """A tensor with few or many elements, whose values make no sum that cancels."""
    sizes = [shapes[rank] for rank in ranks]
    points = int(np.prod(sizes))
    chosen = sorted(draw(st.sets(st.integers(0, points - 1), max_size=min(points, 14))))
    values = [
        draw(st.integers(1, 64)) / 8 + place / 512 + ord(name) / 2**17 for place, _ in enumerate(chosen)
    ]
    columns = np.unravel_index(np.array(chosen, np.int64), sizes) if chosen else [[] for _ in sizes]
    columns = [np.asarray(column, np.int64) for column in columns]
    return FiberTree.from_coo(dict(zip(ranks, sizes, strict=True)), columns, values)


@st.composite
def programs(draw, led=False, nested=False):
    """A specification of one Einsum on some processing elements, and its tensors by name.

    Its expression may be nested. If it is led, A's pieces of J cut J of all factors, while the loops run if
    that of I is around them.
    """
    ranks = RANKS[: draw(st.integers(1, 3))]
    drawn = nested_sums(ranks) if nested else led_products() if led else expressions(ranks)
    expression = draw(drawn)
    used = sorted({rank for one in accesses(expression) for rank in one.ranks})
    shapes = {rank: draw(st.integers(1, 6)) for rank in RANKS}
    output = tuple(draw(st.permutations(used))[: draw(st.integers(0, len(used)))])
    space = (*output, *(rank for rank in used if rank not in output))
    parts = [part for rank in used if (part := draw(cuts(expression, rank)))]
    if led:
        piece = UniformOccupancy("A", draw(st.integers(1, 3)))
        parts = [*(part for part in parts if part.rank != "J"), Split("J", ("J1", "J0"), (piece,))]
    pieces = {part.rank: part.names for part in parts}
    order = draw(orders([pieces.get(rank, (rank,)) for rank in used]))
    parallel = draw(st.integers(0, len(order)))
    stamps = [Stamp(rank) for rank in order]
    spacetime = Spacetime(tuple(stamps[:parallel]), tuple(stamps[parallel:]))
    declared, trees = {}, {}
    for one in accesses(expression):
        uncut = [rank for rank in one.ranks if rank not in pieces or draw(st.integers(0, 9)) == 0]
        whole = tuple(rank for rank in uncut if draw(st.integers(0, 3)) == 0)
        declared[one.tensor] = Tensor(one.tensor, one.ranks, one.ranks, whole)
        trees[one.tensor] = draw(tensors(one.tensor, one.ranks, shapes))
    declared["Z"] = Tensor("Z", output, draw(st.permutations(output).map(tuple)))
    units = [draw(intersectors(loop, sorted(trees))) for loop in order if len(trees) == PAIR]
    intersected = tuple(unit for unit in units if unit)
    count = draw(st.sampled_from([1, 2, 3, 5]))
    bindings = Bindings("Chip", intersectors=intersected, compute=(ComputeBinding("ALU", "mul"),))
    equation = Equation(access("Z", output), expression, "")
    einsum = Einsum("Z", equation, space, order, tuple(parts), spacetime, bindings=bindings)
    return Specification("drawn", declared, (einsum,), shapes=shapes, configurations=chip(count)), trees


MEANINGS = {
    "*": ("mul", "add", "min", "second", "less"),
    "+": ("add", "min", "max", "or"),
    "-": ("sub", "differs", "less", "div"),
}
EMPTY = st.sampled_from([0.0, -1.0, np.inf])


@st.composite
def redefined(draw):
    """A program whose operators have another meaning, and whose tensors do not store some other value.

    What is added up does not store the neutral value.
    """
    specification, trees = draw(programs() | programs(nested=True))
    (einsum,) = specification.einsums
    operators = {operator: draw(st.sampled_from(names)) for operator, names in MEANINGS.items()}
    empty = {name: draw(EMPTY) for name in trees}
    summed = set(einsum.ranks) - set(einsum.computed.output.ranks)
    empty["Z"] = BUILT_IN[operators["+"]].neutral if summed else draw(EMPTY)
    declared = {
        name: replace(tensor, empty=empty[name], uncompressed=())
        for name, tensor in specification.tensors.items()
    }
    return replace(specification, tensors=declared, einsums=(replace(einsum, operators=operators),)), trees


@st.composite
def intersectors(draw, loop, tensors):
    """One that is led by a tensor, one that skips ahead, or none."""
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return IntersectorBinding("Intersect", loop, draw(st.sampled_from(tensors)))
    return IntersectorBinding("Skip", loop) if kind <= 2 else None


def chip(count):
    """An architecture of so many processing elements, each with an ALU and two intersectors."""
    places = {"path": ("Chip", "PE", "ALU"), "instances": count, "all_instances": count}
    alu = Component("ALU", "Compute", **places, operations=("mul", "add"))
    intersect = Component("Intersect", "Intersector", **places, intersection="leader-follower")
    skip = Component("Skip", "Intersector", **places, intersection="skip-ahead")
    return {"Chip": Configuration("Chip", 1e9, {"ALU": alu, "Intersect": intersect, "Skip": skip})}


@st.composite
def merging(draw, reduces=EITHER, pieces=SIZES):
    """Row-wise products whose rows a merger of few lists, or of any, brings into order, and their tensors.

    It adds partial fibers up before it stores them, or it does not; of a row of A all is a task, or each
    piece of so many elements.
    """
    shapes = {rank: draw(st.integers(1, 9)) for rank in "KMN"}
    trees = {name: draw(tensors(name, ranks, shapes)) for name, ranks in (("A", "KM"), ("B", "KN"))}
    order = {"A": ("M", "K"), "B": ("K", "N"), "T": ("M", "K", "N"), "Z": ("M", "N")}
    ranks = {"A": ("K", "M"), "B": ("K", "N"), "T": ("K", "M", "N"), "Z": ("M", "N")}
    whole = {"A": ("M",), "B": ("K",)} if draw(EITHER) else {}
    declared = {name: Tensor(name, ranks[name], order[name], whole.get(name, ())) for name in ranks}
    a, b, t, z = (access(name, ranks[name]) for name in "ABTZ")
    count, radix = draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from([2, 3, 4, 8, None]))
    places = {"path": ("Chip", "PE", "Unit"), "instances": count, "all_instances": count}
    kind = {"inputs": radix, "outputs": 1, "radix": radix, "order": "fifo", "reduces": draw(reduces)}
    chip = {"Chip": Configuration("Chip", 1e9, {"Merger": Component("Merger", "Merger", **places, **kind)})}
    size = draw(pieces)
    cut = (Split("K", ("K1", "K0"), (UniformOccupancy("A", size),)),) if size else ()
    outer, inner = (("M", "K1"), ("K0", "N")) if size else (("M",), ("K", "N"))
    merged = MergerBinding("Merger", "T", (*outer, *inner), (*outer, *reversed(inner)))
    first = Einsum("T", Equation(t, Take((a, b), 1), ""), ("K", "M", "N"), (*outer, *inner), cut)
    second = Einsum("Z", Equation(z, Operation("*", (t, a)), ""), ("M", "N", "K"), merged.final_ranks, cut)
    first = replace(first, spacetime=in_space(first, outer), bindings=Bindings("Chip"))
    bindings = Bindings("Chip", mergers=(merged,))
    second = replace(second, spacetime=in_space(second, outer), bindings=bindings)
    return Specification("merging", declared, (first, second), configurations=chip), trees


def in_space(einsum, outer):
    """These loops in space, the others in time."""
    stamps = [Stamp(loop) for loop in einsum.loop_order]
    return Spacetime(tuple(stamps[: len(outer)]), tuple(stamps[len(outer) :]))


def full_tensor(ranks, shapes):
    """A tensor with an element at each point, which are numbered from 1."""
    points = np.indices([shapes[rank] for rank in ranks]).reshape(len(ranks), -1)
    return FiberTree.from_coo(
        {rank: shapes[rank] for rank in ranks}, list(points), 1.0 + np.arange(points.shape[1])
    )


@st.composite
def paired(draw):
    """Products of tiles, K cut in front of the cut: within a task all rows of A meet all columns of B."""
    shapes = {rank: draw(st.integers(1, 9)) for rank in "KMN"}
    full = draw(st.booleans())
    trees = {
        name: full_tensor(ranks, shapes) if full else draw(tensors(name, ranks, shapes))
        for name, ranks in (("A", "KM"), ("B", "KN"))
    }
    order = draw(st.sampled_from([("K1", "M", "N", "K0"), ("K1", "N", "M", "K0")]))
    ranks = {"A": ("K", "M"), "B": ("K", "N"), "Z": ("M", "N")}
    declared = {name: Tensor(name, ranks[name], tuple(draw(st.permutations(ranks[name])))) for name in ranks}
    product = Operation("*", tuple(access(name, ranks[name]) for name in draw(st.permutations("AB"))))
    bindings = Bindings(
        "Chip", intersectors=(IntersectorBinding("Skip", "K0"),), compute=(ComputeBinding("ALU", "mul"),)
    )
    part = Split("K", ("K1", "K0"), (UniformShape(size=draw(st.integers(1, 9))),))
    equation = Equation(access("Z", ranks["Z"]), product, "")
    einsum = Einsum("Z", equation, ("M", "N", "K"), order, (part,), bindings=bindings)
    einsum = replace(einsum, spacetime=in_space(einsum, order[:1]))
    count = draw(st.sampled_from([1, 2, 3]))
    return Specification("paired", declared, (einsum,), shapes=shapes, configurations=chip(count)), trees
