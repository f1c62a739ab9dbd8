"""What the compiler lowers, run on random tensors, against the same expression on dense arrays."""

from collections import Counter

import pytest
from streams.compiled import assert_computes
from streams.random_expressions import RandomExpression

from fiberscope.base.errors import InputError
from fiberscope.models.graphs.compiler.lower import lower

FEW, MANY = 60, 10_000
REFUSED = ("the sum over", "no tensor on the right has")


def outcome(seed, **drawing):
    """Whether a random expression is computed, or for what it is refused."""
    drawn = RandomExpression(seed, **drawing)
    try:
        graph = lower([drawn.assignment], drawn.formats, drawn.order)
    except InputError as error:
        return next(what for what in REFUSED if what in str(error))
    assert_computes(graph, drawn)
    return "right"


def test_a_few_random_expressions() -> None:
    counts = Counter(outcome(seed) for seed in range(FEW))
    assert counts["right"] > 0.8 * FEW


@pytest.mark.parametrize("seed", [4454, 6013])
def test_rounding_of_a_cascade_is_measured_by_what_was_added_up(seed) -> None:
    assert outcome(seed, letters=("s", "s", "d", "sd"), wide=False) == "right"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_ten_thousand_random_expressions(part) -> None:
    counts = Counter(outcome(seed) for seed in range(FEW + part, FEW + MANY, 20))
    assert counts["right"] > 0.8 * MANY / 20
