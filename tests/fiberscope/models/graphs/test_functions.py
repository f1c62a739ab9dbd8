"""ALUs of every function: the result is what numpy computes, and verification agrees with it."""

import numpy as np
import pytest

from fiberscope.models.graphs import Graph, run
from fiberscope.models.graphs.rewrites import apply_rewrites

FUNCTIONS = {
    "max": np.maximum,
    "min": np.minimum,
    "or": lambda left, right: (left != 0) | (right != 0),
    "and": lambda left, right: (left != 0) & (right != 0),
    "first": lambda left, _right: left,
    "second": lambda _left, right: right,
    "differs": np.not_equal,
    "less": np.less,
}
B = np.array([0, 1, 3, 0, -2, -1, 5, 2.0])
C = np.array([0, 0, 3, -1, 4, -2, 3, 0.0])


def scanner(graph, tensor):
    return graph.add("fiberlookup", index="i", tensor=tensor, mode=0, root=True)


def array(graph, tensor, source, output="ref"):
    made = graph.add("arrayvals", tensor=tensor)
    graph.connect(source, output, made, "ref")
    return made


def write(graph, crds, alu, *values):
    """Feed an ALU, and write what it computes at these coordinates."""
    for number, value in enumerate(values):
        graph.connect(value, "val", alu, f"val[{number}]")
    graph.connect(crds, "crd", graph.add("fiberwrite", index="i", tensor="x", mode=0), "crd")
    graph.connect(alu, "val", graph.add("fiberwrite", tensor="x", mode="vals"), "val")
    return graph


def result_of(graph, **operands):
    report = run(graph, operands)
    assert report.verification.passed
    return np.asarray(report.result.toarray()).ravel()


def united(function):
    """A graph of a function of two vectors behind a union."""
    graph = Graph({"x": "s", "b": "s", "c": "s"})
    union = graph.add("union", index="i")
    for number, tensor in enumerate("bc"):
        level = scanner(graph, tensor)
        graph.connect(level, "crd", union, f"crd[{number}]")
        graph.connect(level, "ref", union, f"ref[{number}]")
    arrays = [array(graph, tensor, union, f"ref[{number}]") for number, tensor in enumerate("bc")]
    return write(graph, union, graph.add(function), *arrays)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_two_vectors(function):
    result = result_of(united(function), b=B, c=C)
    assert result.tolist() == (FUNCTIONS[function](B, C) * 1.0).tolist()


def test_a_take_behind_a_union_gives_nothing_where_an_operand_lacks_an_element():
    """Where b lacks an element, c has -1 and 4: neither is a result."""
    assert result_of(united("take"), b=B, c=C).tolist() == np.where((B != 0) & (C != 0), C, 0).tolist()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("scalar", [-2.0, 0.0, 2.0])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_vector_and_a_scalar_on_either_side(function, scalar, is_first):
    """A scalar, repeated or in a register, has a value where the vector has one."""
    graph = Graph({"x": "s", "b": "s", "a": "none"})
    level = scanner(graph, "b")
    repeat, signal = graph.add("repeat", index="i", tensor="a", root=True), graph.add("repsiggen", index="i")
    graph.connect(level, "crd", signal, "crd")
    graph.connect(signal, "repsig", repeat, "repsig")
    arrays = [array(graph, "b", level), array(graph, "a", repeat)]
    graph = write(graph, level, graph.add(function), *(arrays[::-1] if is_first else arrays))
    expected = FUNCTIONS[function](*((scalar, B) if is_first else (B, scalar))) * 1.0 * (B != 0)
    for made in (graph, apply_rewrites(graph, ["scalar-broadcast"])):
        assert result_of(made, b=B, a=scalar).tolist() == expected.tolist()


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("place", ["const0", "in2"])
def test_a_vector_and_a_constant(function, place):
    graph = Graph({"x": "s", "b": "s"})
    level = scanner(graph, "b")
    graph = write(graph, level, graph.add(function, **{place: 2}), array(graph, "b", level))
    first = place == "const0" and function in ("first", "second", "less")
    expected = FUNCTIONS[function](*((2.0, B) if first else (B, 2.0))) * 1.0 * (B != 0)
    assert result_of(graph, b=B).tolist() == expected.tolist()
