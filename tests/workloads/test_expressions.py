"""The strings of a specification: what they mean, and what is said of those that mean nothing."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fiberscope.workloads.expressions.expression import (
    Access,
    Alias,
    Call,
    Equation,
    Index,
    Number,
    Operation,
    Scalar,
    Take,
    accesses,
    iterate_operators,
    reduces,
)
from fiberscope.workloads.expressions.functions import FUNCTIONS
from fiberscope.workloads.expressions.grammar import (
    Directive,
    UnreadableTextError,
    parse_arithmetic,
    parse_assignment,
    parse_directive,
    parse_function,
    parse_ranks,
    parse_statement,
)


def at(tensor: str, *ranks: str) -> Access:
    return Access(tensor, tuple(Index(((rank, 1),)) for rank in ranks))


A, B, C = (at(tensor, "I") for tensor in "ABC")


def right(text: str) -> object:
    """What a text assigns to Z[i]."""
    statement = parse_statement(f"Z[i] = {text}")
    assert isinstance(statement, Equation)
    assert statement.output == at("Z", "I")
    return statement.expression


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("A[i] * B[i] * C[i]", Operation("*", (A, B, C))),
        ("A[i] + B[i] * C[i]", Operation("+", (A, Operation("*", (B, C))))),
        ("A[i] - B[i] - C[i]", Operation("-", (Operation("-", (A, B)), C))),
        ("A[i] - (B[i] - C[i])", Operation("-", (A, Operation("-", (B, C))))),
        ("-A[i]", Operation("-", (A,))),
        ("-2.5 * A[i]", Operation("*", (Number(-2.5), A))),
        ("alpha*A[i]", Operation("*", (Scalar("alpha"), A))),
        ("take(A[i], B[i], C[i], 2)", Take((A, B, C), 2)),
        ("max(A[i], B[i])", Call("max", (A, B))),
        ("S[]", Access("S", ())),
    ],
)
def test_expressions(text: str, meaning: object) -> None:
    assert right(text) == meaning


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("q+s", Index((("Q", 1), ("S", 1)))),
        ("2*i + -1*j", Index((("I", 2), ("J", -1)))),
        ("i*2 - j + 3", Index((("I", 2), ("J", -1)), 3)),
        ("7", Index((), 7)),
        ("i - 1", Index((("I", 1),), -1)),
        ("i + j - i", Index((("J", 1),))),
    ],
)
def test_indices(text: str, index: Index) -> None:
    assert right(f"A[{text}]") == Access("A", (index,))


def test_only_a_plain_coordinate_is_a_rank() -> None:
    assert Index((("I", 1),)).rank == "I"
    assert [Index(terms, 0).rank for terms in ((), (("I", 2),), (("I", 1), ("J", 1)))] == [None] * 3
    assert Index((("I", 1),), 1).rank is None


def test_an_alias() -> None:
    assert parse_statement("P1 = P0") == Alias("P1", "P0", "")


def test_functions_ranks_directives_and_references() -> None:
    body = Operation("+", (Scalar("x"), Scalar("y")))
    assert parse_function("f(x, y)", "x + y") == ("f", ("x", "y"), body)
    assert [parse_ranks(text) for text in ("K", "(M, K0)")] == [("K",), ("M", "K0")]
    assert parse_directive("uniform_occupancy(A.16)") == Directive("uniform_occupancy", "A", Fraction(16))
    assert parse_directive("uniform_shape(K1)") == Directive("uniform_shape", None, "K1")
    assert parse_directive("flatten()") == Directive("flatten", None, None)
    product = Operation(
        "*", (Scalar("pe.count"), Operation("-", (Number(Fraction(3)), Number(Fraction(1, 2)))))
    )
    assert parse_arithmetic("pe.count * (3 - 0.5)") == product


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 0, "found the end, expected a name"),
        ("Z[i] A[i]", 5, "found 'A', expected ="),
        ("Z[i] = A[i", 10, "found the end, expected * or + or , or - or ]"),
        ("Z[i] = A[i] $", 12, "found '$', which means nothing here"),
        ("Z[i] = A[1.5*i]", 9, "1.5 in an index: it should be a whole number"),
        ("Z[i] = take(A[i], 1)", 7, "take needs operands and the number of the one to copy, 0 to 0"),
        ("Z[i] = " + "(" * 41, 47, "more than 40 parentheses within one another"),
        ("Z[i] = " + "A[i]+" * 500, 0, "2,507 characters are too many; 2,000 are read"),
    ],
)
def test_what_cannot_be_read(text: str, column: int, message: str) -> None:
    with pytest.raises(UnreadableTextError) as failure:
        parse_statement(text)
    assert str(failure.value).startswith(message)
    assert failure.value.column == column


@pytest.mark.parametrize(
    ("parse", "chain"),
    [
        *((parse_statement, chain) for chain in ("- ", "+ A", "- A", "* A", "\u2217 A")),
        *((parse_assignment, chain) for chain in ("- ", "+ A", "- A", "* A", "/ A")),
        *((parse_arithmetic, chain) for chain in ("+ A", "- A", "* A", "/ A")),
    ],
)
def test_the_number_of_operators_is_limited_and_as_many_are_read(
    parse: Callable[[str], object], chain: str
) -> None:
    """Trees are read by functions that call themselves: one level for each operator at worst."""
    left, name = {parse_statement: ("Z[i] = ", "A[i]"), parse_assignment: ("z = ", "a")}.get(parse, ("", "2"))

    def text(operators: int) -> str:
        steps = chain.replace("A", name) * operators
        return f"{left}{steps}{name}" if chain == "- " else f"{left}{name}{steps}"

    tree = parse(text(100))
    assert str(tree)
    if isinstance(tree, Equation):
        assert len(list(accesses(tree.expression))) > 0
    with pytest.raises(UnreadableTextError, match="more than 100 operators; write it as several"):
        parse(text(101))


@pytest.mark.parametrize(
    "text",
    [
        "Z[] = A[i]",
        "Z[] = A[]",
        "Z[i] = A[]",
        "Z[i] = A[i]",
        "Z[i, j] = A[i]",
        "Z[j] = A[i]",
        "Z[i] = A[i, j]",
        "Z[i, j] = A[i, k] * B[k, j]",
        "Z[i, j] = A[i] * B[j]",
        "Z[i, j, k] = A[i] * B[j]",
        "Z[q] = I[q + s] * F[s]",
        "O[q + s] = I[q] * F[s]",
        "Z[i] = take(A[i], B[i, j], 0)",
        "Z[i] = take(A[i], B[i, j], 1)",
    ],
)
def test_an_equation_reduces_if_two_points_write_the_same_output(text: str) -> None:
    equation = parse_statement(text)
    assert isinstance(equation, Equation)
    expression = equation.expression
    if isinstance(expression, Take):
        expression = expression.operands[expression.selected]
    ranks = sorted({rank for access in accesses(expression) for rank in access.ranks})
    outputs = []
    for coordinates in product(range(3), repeat=len(ranks)):
        point = dict(zip(ranks, coordinates, strict=True))
        terms = (index.terms for index in equation.output.indices)
        # a rank that only the output has repeats each value
        outputs.append(tuple(sum(point.get(rank, 0) * factor for rank, factor in each) for each in terms))
    assert reduces(equation) == (len(set(outputs)) < len(outputs))


def test_functions_of_numbers_and_arrays_are_those_of_python() -> None:
    functions = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
        "take": lambda _x, y: y,
        "neg": lambda x: -x,
        "min": min,
        "max": max,
        "or": lambda x, y: float(x != 0 or y != 0),
        "and": lambda x, y: float(x != 0 and y != 0),
        "first": lambda x, _y: x,
        "second": lambda _x, y: y,
        "differs": lambda x, y: float(x != y),
        "less": lambda x, y: float(x < y),
        "exp": math.exp,
        "sqrt": math.sqrt,
        "abs": abs,
    }
    assert functions.keys() == FUNCTIONS.keys()
    numbers = (-2.5, -1.0, 0.0, 1.0, 3.0)
    for name, apply in functions.items():
        unary = name in ("neg", "exp", "sqrt", "abs")
        points = [
            point
            for point in product(numbers, repeat=1 if unary else 2)
            if (name != "div" or point[1] != 0) and (name != "sqrt" or point[0] >= 0)
        ]
        expected = [apply(*point) for point in points]
        function = FUNCTIONS[name]
        assert [float(function.apply(*point)) for point in points] == pytest.approx(expected), name
        arrays = [np.array(column) for column in zip(*points, strict=True)]
        assert function.apply(*arrays).tolist() == pytest.approx(expected), name
        assert function.adds == (name in ("add", "sub"))
        if function.of_both and name != "take":
            assert all(value == 0 for point, value in zip(points, expected, strict=True) if 0 in point), name


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        ("A[i]", ""),
        ("-A[i]", "-"),
        ("A[i] * B[i]", "*"),
        ("A[i] * B[i] * C[i]", "* *"),
        ("A[i] + B[i] + C[i] + A[i]", "+ + +"),
        ("A[i] + B[i] * C[i] * A[i]", "+ * *"),
        ("max(A[i], B[i]) * C[i]", "* max"),
        ("take(A[i] * B[i], C[i], 0)", "*"),
    ],
)
def test_an_operator_counts_once_for_each_application(text: str, operators: str) -> None:
    assert list(iterate_operators(right(text))) == operators.split()
