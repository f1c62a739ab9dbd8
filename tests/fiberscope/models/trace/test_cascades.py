"""Cascades that run again and again, with operators of their own."""

import math

import pytest

from fiberscope.models.trace.evaluate import run
from fiberscope.models.trace.specification import Einsum, Iteration, Specification, Tensor
from fiberscope.workloads.expressions.expression import Access, Alias, Equation, Index, Operation
from fiberscope.workloads.fibertree import FiberTree

MIN_PLUS = {"*": "add", "+": "min", "-": "sub"}


def access(tensor, ranks):
    return Access(tensor, tuple(Index(((rank, 1),)) for rank in ranks))


def shortest_paths(limit):
    """P1 is the smaller of P0 and of what one more edge gives; the next round's P0 is this one's P1."""
    tensors = {
        "G": Tensor("G", ("D", "S"), ("S", "D"), empty=math.inf),
        "P0": Tensor("P0", ("U",), ("U",), empty=math.inf),
        "R": Tensor("R", ("D",), ("D",), empty=math.inf),
        "P1": Tensor("P1", ("V",), ("V",), empty=math.inf),
        "Q": Tensor("Q", ("W",), ("W",), empty=math.inf),
    }
    reach = Equation(access("R", "D"), Operation("*", (access("G", "DS"), access("P0", "S"))), "")
    improve = Equation(access("P1", "V"), Operation("+", (access("R", "V"), access("P0", "V"))), "")
    einsums = (
        Einsum("R", reach, ("D", "S"), ("S", "D"), operators=MIN_PLUS),
        Einsum("P1", improve, ("V",), ("V",), operators=MIN_PLUS),
        Einsum("Q", Alias("Q", "P1", "")),
    )
    return Specification("paths", tensors, einsums, iteration=Iteration({"P0": "Q"}, None, limit))


@pytest.fixture
def inputs():
    """Edges 0 to 1 (5), 0 to 2 (1), 2 to 1 (1), 1 to 3 (2); none to 4. The source has the distance 0."""
    edges = [(1, 0, 5.0), (2, 0, 1.0), (1, 2, 1.0), (3, 1, 2.0)]
    to, source, weights = zip(*edges, strict=True)
    graph = FiberTree.from_coo({"D": 5, "S": 5}, [to, source], weights)
    return {"G": graph, "P0": FiberTree.from_coo({"U": 5}, [[0]], [0.0])}


def distances(outcome):
    found, values = outcome.tensors["Q"].to_coo()
    return dict(zip(found["W"].tolist(), values.tolist(), strict=True))


def test_shortest_paths_until_nothing_changes(inputs):
    outcome = run(shortest_paths(100), inputs)
    assert distances(outcome) == {0: 0.0, 1: 2.0, 2: 1.0, 3: 4.0}
    assert outcome.rounds == 4  # the fourth changes nothing
    assert outcome.wrong is None
    assert outcome.runs[0].operations == {"mul": 2}  # two edges leave the source


def test_the_number_of_rounds_is_limited(inputs):
    outcome = run(shortest_paths(2), inputs)
    assert outcome.rounds == 2
    assert distances(outcome)[3] == 7.0
