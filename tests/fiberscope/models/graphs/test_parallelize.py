"""Loops on several copies of their blocks: equal to dense arrays, in fewer cycles, or refused."""

from collections import Counter

import numpy as np
import pytest
from streams.compiled import assert_computes
from streams.random_expressions import RandomExpression

from fiberscope.base.errors import InputError
from fiberscope.models.graphs import compile_expression, run
from fiberscope.models.graphs.check import check
from fiberscope.models.graphs.compiler.lower import lower
from fiberscope.models.graphs.expression import list_expressions
from fiberscope.models.graphs.rewrites.parallelize import parallelize_loop

FEW, MANY = 40, 3000
OUTCOMES = {"right", "refused", "not lowered", "no loop"}
PRODUCT, ROWS = "X(i,j) = B(i,k) * C(k,j)", "X:ss,B:ss,C:ss"
SAMPLED = "X(i,j) = B(i,j) * C(i,k) * D(j,k)"


def outcome(seed):
    """Whether a random expression on copies is computed, or how far it got."""
    drawn = RandomExpression(seed)
    try:
        graph = lower([drawn.assignment], drawn.formats, drawn.order)
    except InputError:
        return "not lowered"
    if not drawn.order:
        return "no loop"
    try:
        variable = drawn.order[seed % len(drawn.order)]
        made = parallelize_loop(graph, variable, 2 + seed % 3)
    except InputError as error:
        return "refused" if "brings together" in str(error) else str(error)
    check(made)
    assert_computes(made, drawn)
    return "right"


def test_random_expressions_on_copies() -> None:
    counts = Counter(outcome(seed) for seed in range(FEW))
    assert counts["right"] > 0.1 * FEW
    assert set(counts) <= OUTCOMES


@pytest.mark.slow
def test_more_random_expressions_on_copies() -> None:
    counts = Counter(outcome(seed) for seed in range(FEW, MANY))
    assert counts["right"] > 0.2 * MANY
    assert set(counts) <= OUTCOMES


def sparse(generator, *shape):
    return (generator.random(shape) < 0.2) * generator.integers(1, 9, shape).astype(float)


CYCLES = [
    ("x(i) = B(i,j) * c(j)", "x:s,B:ss,c:s", "i,j", "i", 0.4),
    (PRODUCT, "X:ss,B:ss,C:ss", "i,k,j", "i", 0.9),
    (PRODUCT, "X:ss,B:ss,C:ss:10", "i,j,k", "i", 0.45),
    (PRODUCT, "X:ss,B:ss,C:ss:10", "i,j,k", "j", 0.45),
    (SAMPLED, "X:ss,B:ss,C:ss,D:ss", "i,j,k", "i", 0.45),
]


@pytest.mark.parametrize(("text", "formats", "order", "variable", "least"), CYCLES)
def test_copies_take_fewer_cycles(text, formats, order, variable, least) -> None:
    sizes = {"i": 30, "j": 20, "k": 24}
    cycles = []
    for ways in (1, 2, 3, 4):
        made = compile_expression(text, [formats], order.split(","), parallelize=f"{variable}:{ways}")
        operands = {
            name: sparse(np.random.default_rng(place), *(sizes[one] for one in variables))
            for place, (name, variables) in enumerate(paths(made))
        }
        report = run(made.graph, operands)
        assert report.verification.passed
        cycles.append(report.cycles)
    assert cycles[3] < least * cycles[0]
    assert cycles[1] < cycles[0]


def paths(made):
    return {path.access.tensor: path.access.variables for path in made.notations[0].operands}.items()


@pytest.mark.parametrize(("order", "formats"), [("i,j", "x:s,B:ss,c:s"), ("j,i", "x:s,B:ss:10,c:s")])
def test_lanes_are_not_added_up(order, formats) -> None:
    with pytest.raises(InputError, match="no block adds up lanes"):
        compile_expression("x(i) = B(i,j) * c(j)", [formats], order.split(","), parallelize="j:2")


def test_one_copy_is_the_graph() -> None:
    whole, one = (compile_expression(PRODUCT, [ROWS], parallelize=text) for text in ("", "i:1"))
    assert whole.graph == one.graph
    assert whole.counts == one.counts


def test_blocks_are_counted_and_the_expression_is_read_off_one_way() -> None:
    made = compile_expression(PRODUCT, [ROWS], ["i", "k", "j"], parallelize="i:3")
    assert made.graph.counts()["mul"] == made.graph.counts()["spaccumulator"] == 3
    assert made.graph.counts()["merge"] == 1
    assert [str(one) for one in list_expressions(made.graph)] == ["X(i,j) = sum[k] (B(i,k) * C(k,j))"]
