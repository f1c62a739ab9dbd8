"""Einsums of any kind, with any mapping, give what they say: drawn ones against every point worked out."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fiberscope.models.trace import prepare, verify
from fiberscope.models.trace.api import load_outline
from fiberscope.models.trace.evaluate import Attachment, run
from fiberscope.models.trace.recorder import Recorder
from fiberscope.models.trace.reference import Computation
from fiberscope.models.trace.specification import (
    Bindings,
    Einsum,
    Flatten,
    Function,
    IntersectorBinding,
    Specification,
    Split,
    Tensor,
    UniformOccupancy,
    UniformShape,
)
from fiberscope.models.trace.verify import can_project, project_outputs
from fiberscope.workloads.expressions.expression import (
    Access,
    Call,
    Equation,
    Index,
    Number,
    Operation,
    Scalar,
    Take,
    accesses,
)
from fiberscope.workloads.fibertree import FiberTree
from fiberscope.workloads.tree_blocks import blocks

RANKS = ("I", "J", "K")
APART = Call("max", (Operation("-", (Scalar("x"), Scalar("y"))), Number(0.5)))
FUNCTIONS = {"gap": Function("gap", ("x", "y"), APART)}  # of the specification's own
PLAIN = {"*": "mul", "+": "add", "-": "sub"}
MIN_PLUS = {"*": "add", "+": "min", "-": "sub"}
OTHERS = {"*": "min", "+": "or", "-": "differs"}


@st.composite
def indices(draw, ranks, *, plain):
    """An index of an access: mostly a plain one."""
    kind = 0 if plain else draw(st.integers(0, 7))
    rank = draw(st.sampled_from(ranks))
    if kind < 5:
        return Index(((rank, 1),))
    if kind == 5:
        return Index((), draw(st.integers(0, 2)))
    other = draw(st.sampled_from(ranks))
    factors = st.sampled_from([1, 1, 2, -1])
    terms = {rank: draw(factors)}
    if other != rank:
        terms[other] = draw(factors)
    return Index(tuple(terms.items()), draw(st.integers(-1, 1)))


@st.composite
def expressions(draw, names, ranks, depth=0):
    """An expression; ``names`` gives fresh names of tensors."""
    kind = draw(st.integers(0, 9 if depth < 2 else 2))
    if kind <= 2:
        count = draw(st.integers(1, 3))
        return Access(next(names), tuple(draw(indices(ranks, plain=False)) for _ in range(count)))
    count = draw(st.integers(2, 3))
    operands = tuple(draw(expressions(names, ranks, depth + 1)) for _ in range(count))
    if kind <= 5:
        return Operation("*", operands)
    if kind == 6:
        return Take(operands, draw(st.integers(0, count - 1)))
    if kind == 7:
        return Call(draw(st.sampled_from(("max", "gap"))), operands[:2])
    if kind == 8:
        return Operation("-", (*operands[:1], Operation("*", (Number(2.0), operands[1]))))
    return Operation("+", operands)


def plainly(expression, declared):
    """The tensors that have a rank plainly, once."""
    return [
        access.tensor
        for access in accesses(expression)
        if [index.rank for index in access.indices].count(declared) == 1
    ]


@st.composite
def mappings(draw, expression, ranks):
    """Partitionings and a loop order."""
    parts, loops = [], []
    rest = list(ranks)
    if len(rest) > 1 and draw(st.integers(0, 4)) == 0:
        pair = draw(st.permutations(rest))[:2]
        names = (*pair, "".join(pair))
        rest = [rank for rank in rest if rank not in pair]
        parts.append(Flatten(tuple(pair), names[2]))
        both = [name for name in plainly(expression, pair[0]) if name in plainly(expression, pair[1])]
        if both and draw(st.booleans()):
            size = draw(st.integers(1, 4))
            leader = draw(st.sampled_from(both))
            parts.append(Split(names[2], (f"{names[2]}1", f"{names[2]}0"), (UniformOccupancy(leader, size),)))
            loops.append([f"{names[2]}1", f"{names[2]}0"])
        else:
            loops.append([names[2]])
    for rank in rest:
        directives = []
        for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
            directives.append(draw(directive(expression, rank, directives)))
        if not directives:
            loops.append([rank])
            continue
        names = tuple(f"{rank}{place}" for place in range(len(directives), -1, -1))
        parts.append(Split(rank, names, tuple(directives)))
        loops.append(list(names))
    order = []
    for place in draw(st.permutations([place for place, group in enumerate(loops) for _ in group])):
        order.append(loops[place].pop(0))
    return tuple(parts), tuple(order)


@st.composite
def directive(draw, expression, rank, before):
    """One cut of a rank; by shape only where nothing was cut by occupancy."""
    leaders = plainly(expression, rank)
    occupied = [item for item in before if isinstance(item, UniformOccupancy)]
    if occupied:
        return UniformOccupancy(occupied[0].leader, draw(st.integers(1, 3)))
    if leaders and draw(st.booleans()):
        return UniformOccupancy(draw(st.sampled_from(leaders)), draw(st.integers(1, 3)))
    if draw(st.booleans()):
        return UniformShape(ways=draw(st.integers(1, 3)))
    return UniformShape(size=draw(st.integers(1, 4)))


@st.composite
def programs(draw):
    """A specification of one Einsum, and its tensors."""
    ranks = RANKS[: draw(st.integers(1, 3))]
    names = iter(f"A{number}" for number in range(100))
    expression = draw(expressions(names, ranks))
    used = sorted({rank for access in accesses(expression) for rank in access.ranks})
    shapes = {rank: draw(st.integers(1, 5)) for rank in RANKS}
    outputs = tuple(
        draw(indices(ranks, plain=draw(st.integers(0, 3)) > 0)) for _ in range(draw(st.integers(0, 3)))
    )
    kept = {rank for index in outputs for rank in index.ranks}
    space = tuple(sorted(kept)) + tuple(rank for rank in used if rank not in kept)
    output = Access("Z", outputs)
    parts, order = draw(mappings(expression, space))
    tensors, trees = {}, {}
    for access in accesses(expression):
        declared = tuple(f"{access.tensor}R{place}" for place in range(len(access.indices)))
        sizes = [extent(index, shapes) for index in access.indices]
        trees[access.tensor] = draw(sparse(declared, sizes))
        whole = [rank.rank for rank in access.indices if rank.rank and draw(st.integers(0, 5)) == 0]
        tensors[access.tensor] = Tensor(
            access.tensor, declared, draw(st.permutations(declared).map(tuple)), tuple(whole)
        )
    declared = tuple(f"ZR{place}" for place in range(len(outputs)))
    operators = draw(st.sampled_from((PLAIN, PLAIN, MIN_PLUS, OTHERS)))
    empty = math.inf if operators is MIN_PLUS else 0.0
    tensors["Z"] = Tensor("Z", declared, draw(st.permutations(declared).map(tuple)), empty=empty)
    leads = tuple(
        IntersectorBinding("unit", loop, draw(st.sampled_from(list(trees))))
        for loop in order
        if draw(st.integers(0, 3)) == 0
    )
    bindings = Bindings("", intersectors=leads)
    equation = Equation(output, expression, "")
    einsum = Einsum("Z", equation, space, order, parts, bindings=bindings, operators=operators)
    sizes = {rank: shapes[rank] for rank in RANKS}
    return Specification("drawn", tensors, (einsum,), shapes=sizes, functions=FUNCTIONS), trees


def extent(index, shapes):
    """A shape that some points of an index are in, and perhaps some are not."""
    if index.rank is not None:
        return shapes[index.rank]
    reach = sum(max(0, factor * (shapes[rank] - 1)) for rank, factor in index.terms)
    return max(1, reach + index.constant + 1)


@st.composite
def sparse(draw, declared, sizes):
    """A tensor with few or many elements, of small integers, some of them negative."""
    points = int(np.prod(sizes))
    chosen = sorted(draw(st.sets(st.integers(0, points - 1), max_size=min(points, 12))))
    values = [float(draw(st.sampled_from([1, 2, 3, -1, -2]))) for _ in chosen]
    columns = np.unravel_index(np.array(chosen, np.int64), sizes) if chosen else [[] for _ in sizes]
    columns = [np.asarray(column, np.int64) for column in columns]
    return FiberTree.from_coo(dict(zip(declared, sizes, strict=True)), columns, values)


def check(program):
    specification, trees = program
    outcome = run(specification, trees)
    assert outcome.wrong is None
    assert outcome.runs[0].verification.reference == "an evaluation of every point"


@settings(suppress_health_check=list(HealthCheck))
@given(programs())
def test_an_einsum_with_any_mapping_gives_what_every_point_gives(program):
    check(program)


@pytest.mark.slow
@settings(max_examples=10_000, suppress_health_check=list(HealthCheck))
@given(programs())
def test_ten_thousand_einsums(program):
    check(program)


KINDS = ("coord", "payload")


class Heard(Recorder):
    """Keeps all that it is told."""

    def __init__(self, level):
        super().__init__(1, 1, level)
        self.told = []

    def touch(self, fiber, position, write, group):
        self.told.append((fiber, position, write, group))
        return 0


def heard(program):
    """What is told of each rank of each input, Einsum by Einsum, and what the output holds."""
    told = []

    def observe(prepared):
        ranks = [(tensor, rank) for tensor, tree in prepared.trees.items() for rank in tree.names]
        recorders = {(*rank, kind): Heard(len(prepared.levels) - 1) for rank in ranks for kind in KINDS}
        told.append({what: recorder.told for what, recorder in recorders.items()})
        return [Attachment(*what, recorder) for what, recorder in recorders.items()]

    found, values = run(*program, observe).tensors["Z"].to_coo()
    return told, {rank: list(column) for rank, column in found.items()}, list(values)


def heard_in_blocks(program):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "NONZEROS_PER_BLOCK", 3)
        return heard(program)


@settings(suppress_health_check=list(HealthCheck))
@given(programs())
def test_trees_that_come_in_blocks_are_read_as_whole_ones(program):
    assert heard_in_blocks(program) == heard(program)


def test_a_tree_of_three_ranks_that_comes_in_blocks_is_read_as_a_whole_one():
    """Gamma's T, made in the order M, K, N and read in the order M, N, K."""
    a = (np.random.default_rng(1).random((9, 9)) < 0.4).nonzero()
    trees = {
        name: FiberTree.from_coo(dict.fromkeys(ranks, 9), a, np.ones(len(a[0])))
        for name, ranks in (("A", "KM"), ("B", "KN"))
    }
    program = (load_outline("gamma", {}), trees)
    assert heard_in_blocks(program) == heard(program)


@settings(max_examples=3, suppress_health_check=list(HealthCheck))  # each takes seconds
@given(programs(), st.integers(0, 1 << 30))
def test_projections_find_what_the_points_say_and_a_changed_value(program, seed):
    specification, trees = program
    einsum = specification.einsums[0]
    assume(can_project(einsum))
    output = run(specification, trees).tensors["Z"]
    work = Computation(specification, einsum, trees, specification.shapes)
    expected, found, sizes = project_outputs(work, output)
    assert np.all(np.abs(expected - found) <= 1e-12 * sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "blocks", partial(blocks, max_nonzeros=2))
        assert np.all(np.abs(project_outputs(work, output)[0] - expected) <= 1e-12 * sizes)
    if output.nonzeros:
        values = output.values.copy()
        values[seed % len(values)] += 1e-6
        expected, found, sizes = project_outputs(work, replace(output, values=values))
        assert np.any(np.abs(expected - found) > 1e-12 * sizes)


def test_a_point_of_a_take_counts_once_in_whatever_blocks_its_tensor_is_verified(tmp_path, monkeypatch):
    """A is taken where B has an element of any k; each row of B is a block of its own."""
    path = tmp_path / "take.yaml"
    path.write_text(
        "einsum:\n  declaration: {A: [M], B: [K, M], Z: [M]}\n"
        "  expressions: ['Z[m] = take(A[m], B[k, m], 0)']\n"
    )
    specification, shapes = load_outline(str(path), {}), {"K": 4, "M": 3}
    trees = {
        "A": FiberTree.from_coo({"M": 3}, (np.arange(3),), np.array([2.0, 3.0, 5.0])),
        "B": FiberTree.from_coo(shapes, np.ones((4, 3)).nonzero(), np.ones(12)),
    }
    work = Computation(specification, specification.einsums[0], trees, shapes)
    monkeypatch.setattr(verify, "blocks", partial(blocks, max_nonzeros=1))
    expected, found, _sizes = project_outputs(work, run(specification, trees).tensors["Z"])
    assert expected.tolist() == found.tolist() == [2, 3, 5]


def test_what_is_everywhere_is_in_every_piece_of_a_leader():
    """A[i] * B[i] + C[j] where A leads the cut of I, and its first piece has nothing of B: C is there."""
    rank, other = (Index((("I", 1),)),), (Index((("J", 1),)),)
    summed = Operation("+", (Operation("*", (Access("A", rank), Access("B", rank))), Access("C", other)))
    cut = Split("I", ("I1", "I0"), (UniformOccupancy("A", 1),))
    equation = Equation(Access("Z", rank + other), summed, "")
    einsum = Einsum("Z", equation, ("I", "J"), ("I1", "I0", "J"), (cut,))
    tensors = {name: Tensor(name, ("R",), ("R",)) for name in "ABC"} | {
        "Z": Tensor("Z", ("X", "Y"), ("X", "Y"))
    }
    trees = {
        "A": FiberTree.from_coo({"R": 3}, [[1, 2]], [1.0, 2.0]),
        "B": FiberTree.from_coo({"R": 3}, [[2]], [3.0]),
        "C": FiberTree.from_coo({"R": 2}, [[1]], [5.0]),
    }
    check((Specification("sum", tensors, (einsum,)), trees))


def test_cuts_are_made_from_the_outer_loops_in():
    """C, which leads the cut of J, follows A's cut of K while the loops run; K's loop lies further out."""
    i, j, k = (Index(((rank, 1),)) for rank in "IJK")
    inner = Call("max", (Access("A", (Index((("I", 1),), 1), k)), Access("B", (i,))))
    equation = Equation(Access("Z", (j, j)), Call("max", (inner, Access("C", (k, j)))), "")
    cuts = (
        Split("J", ("J2", "J1", "J0"), (UniformOccupancy("C", 2), UniformOccupancy("C", 1))),
        Split("I", ("I1", "I0"), (UniformOccupancy("B", 2),)),
        Split("K", ("K1", "K0"), (UniformOccupancy("A", 2),)),
    )
    order = ("I1", "I0", "K1", "J2", "J1", "K0", "J0")
    tensors = {name: Tensor(name, ("R", "S"), ("R", "S")) for name in "AZ"}
    tensors |= {"B": Tensor("B", ("R",), ("R",)), "C": Tensor("C", ("R", "S"), ("S", "R"))}
    rows, columns = [2, 3, 2, 3, 0, 1, 3], [0, 0, 1, 1, 2, 2, 2]
    trees = {
        "A": FiberTree.from_coo({"R": 6, "S": 3}, [[], []], []),
        "B": FiberTree.from_coo({"R": 5}, [[0, 1]], [-1.0, 2.0]),
        "C": FiberTree.from_coo({"R": 3, "S": 4}, [columns, rows], [-2.0, -1, -2, 3, 3, -1, 1]),
    }
    einsum = Einsum("Z", equation, ("J", "I", "K"), order, cuts)
    check((Specification("larger", tensors, (einsum,)), trees))


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("nan_first", [True, False])
def test_the_smaller_and_the_larger_of_nan_and_a_number_are_nan(name, nan_first):
    """B has no element, so that its sum with a number is the empty value: infinity."""
    absent = Operation("*", (Number(2.0), Access("B", (Index((("I", 1),)),))))
    infinity = Operation("-", (Access("A", (Index((("I", 1),)),)), absent))
    nan = Operation("-", (infinity, infinity))
    operands = (nan, Number(0.5)) if nan_first else (Number(0.5), nan)
    equation = Equation(Access("Z", ()), Call(name, operands), "")
    einsum = Einsum("Z", equation, ("I",), ("I",), operators=MIN_PLUS)
    tensors = {tensor: Tensor(tensor, ("R",), ("R",)) for tensor in "AB"}
    tensors["Z"] = Tensor("Z", (), (), empty=math.inf)
    trees = {
        "A": FiberTree.from_coo({"R": 2}, [[0, 1]], [1.0, 2.0]),
        "B": FiberTree.from_coo({"R": 2}, [[]], []),
    }
    program = (Specification("unordered", tensors, (einsum,)), trees)
    assert np.isnan(run(*program).tensors["Z"].values).all()
    check(program)
