"""Operations of the closed form: those of the run where they follow from shape and nonzeros, else by hand."""

import numpy as np
import pytest
from conversions import EXAMPLE, PAIRS, convert, parameters, random_matrix

from fiberscope.converters.cost import _count_rows, conversion_cost
from fiberscope.workloads.tensor import SparseTensor

SAME = ("divide", "multiply", "scatter")
MAKES = [(), (("lanes.chunk", 4), ("lanes.divide", 2), ("lanes.multiply", 3), ("lanes.scan", 8))]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[" to ".join(pair) for pair in PAIRS])
@pytest.mark.parametrize("make", MAKES, ids=["as it ships", "narrow"])
def test_a_run_does_the_operations_of_its_closed_form(source, target, make):
    """Counters take equal keys of a beat together, and beats of sums and sorters need not be full."""
    for seed, shape, density in ((1, (30, 40), 0.1), (2, (64, 96), 0.3)):
        done = convert(random_matrix(seed, shape, density), source, target, 32, *make)
        ran, told = done.machine.operations(), done.cost().operations
        nonzeros = done.machine.job.nonzeros
        assert {name: ran.get(name) for name in SAME} == {name: told.get(name) for name in SAME}
        assert told.get("count", nonzeros) == nonzeros
        for name in ("add", "compare_exchange", "count"):
            assert (name in ran) == (name in told)


@pytest.mark.parametrize(
    ("source", "target"), [("coo", "dense"), ("coo", "rlc"), ("dense", "coo"), ("rlc", "coo"), ("zvc", "csf")]
)
def test_a_rank_more_takes_a_multiplication_or_a_division_more(source, target):
    """From place to coordinates, or back: one a nonzero for each rank but the first."""
    places = tuple(np.array([[0, 1, 1, 2], [0, 0, 2, 1], [3, 0, 1, 2]]))
    done = convert(SparseTensor((3, 3, 4), places, np.arange(1.0, 5)), source, target)
    ran, told = done.machine.operations(), done.cost().operations
    operation = "multiply" if source == "coo" else "divide"
    assert ran[operation] == told[operation] == 2 * 4


@pytest.mark.parametrize("order", [2, 3, 4, 21])
def test_each_level_expands_its_own_pointers(order):
    """The run compares each pointer of a level once; level 2 is not level 20."""
    draw = np.random.default_rng(order)
    places = np.unique(draw.integers(0, 3, (order, 60)), axis=1)
    tensor = SparseTensor((3,) * order, tuple(places), np.arange(1.0, places.shape[1] + 1))
    done = convert(tensor, "csf", "coo")
    assert done.cost().operations["compare"] == done.machine.operations()["compare"]
    assert done.cycles >= done.cost().cycles


CHUNKS = parameters(("lanes.chunk", 4))


@pytest.mark.parametrize(
    ("source", "target", "operations"),
    [
        # 5 row pointers; 2 chunks of 4 through the 3 steps of 2 comparators; 4 counters summed in one beat
        ("csr", "csc", {"compare": 5, "compare_exchange": 12, "count": 6, "add": 161, "scatter": 6}),
        # row and column of each nonzero by 2; the 3 pointers of rows of blocks in one beat
        ("csr", "bsr2", {"compare": 5, "divide": 12, "add": 161}),
        ("csr", "coo", {"compare": 5}),
        # 16 places; their flags in one beat
        ("dense", "coo", {"compare": 16, "add": 161, "divide": 6}),
        # what is decoded is decoded twice, what is counted is counted once
        (
            "dense",
            "csc",
            {
                "compare": 2 * 16,
                "add": 2 * 161 + 161,
                "divide": 2 * 6,
                "compare_exchange": 12,
                "count": 6,
                "scatter": 6,
            },
        ),
    ],
)
def test_closed_forms_of_operations_by_hand(source, target, operations):
    """4 x 4 with 6 nonzeros.

    A prefix sum of 32 lanes in parallel form has 31 + 30 + 28 + 24 + 16 adders and 32 for the offset: 161.
    """
    assert conversion_cost(source, target, EXAMPLE.shape, 6, 32, CHUNKS).operations == operations


@pytest.mark.parametrize(("items", "rows"), [(0, 1), (3, 1), (4, 2), (7, 2), (8, 3), (8.5, 3)])
def test_a_stop_takes_a_place_of_the_last_row(items, rows):
    assert _count_rows(items, 4) == rows
