"""The position multiplier against Python's integers."""

import pytest
from array_bench import arrays_of, check_block, lanes_of, ports, sizes, stall_seeds
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.lanes.position_multiplier import DEPTH, PositionMultiplier
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.testing import run_block


def inputs_of(lanes, factors, arrays):
    return {"factors": [(0, factor, 0, 0.0) for factor in factors]} | lanes_of("lanes", lanes, arrays)


def check_products(lanes, width, factors, arrays, **bench):
    expected = [
        [((number * factor + offset) % (1 << width), 0, value) for number, offset, value in array]
        for factor, array in zip(factors, arrays, strict=True)
    ]
    return check_block(
        lambda: PositionMultiplier("multiplier", lanes, width),
        inputs_of(lanes, factors, arrays),
        lanes_of("products", lanes, expected),
        **bench,
    )


@given(
    data=st.data(),
    lanes=st.integers(1, 5),
    width=st.sampled_from([1, 2, 7, 32, 36, 37, 62]),
    size=sizes,
    seed=stall_seeds,
)
def test_products_of_any_arrays(data, lanes, width, size, seed):
    word = st.integers(0, (1 << width) - 1)
    arrays = data.draw(arrays_of(lanes, word, references=word))
    factors = [data.draw(word) for _ in arrays]
    check_products(lanes, width, factors, arrays, seed=seed, **size)


def test_the_largest_numbers():
    largest = (1 << 62) - 1
    check_products(8, 62, [largest], [[(largest, largest, 0.0)] * 20])


def test_rows_and_columns_become_positions():
    outcome = check_products(2, 32, [7], [[(3, 5, 1.5), (0, 6, 2.5), (2, 0, 0.5)]])
    assert [token[1] for port in ports("products", 2) for token in outcome.tokens(port)] == [26, 14, 6, 0]
    # Pushed at 0, taken at 1, seen three cycles later.
    assert outcome.received["products[0]"][0][0] == 1 + DEPTH
    assert outcome.statistics["multiplier"].counters == {"rows": 2, "multiply": 3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "multiplier: lanes must be from 1 to 256, not 0"),
        ((1, 63), "multiplier: width must be from 1 to 62, not 63"),
    ],
)
def test_what_cannot_be_built_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PositionMultiplier("multiplier", *arguments)


@pytest.mark.parametrize(
    ("factor", "item", "message"),
    [
        (256, (0, 0, 0.0), "multiplier: 256 at factors is no unsigned integer of 8 bits"),
        (1, (256, 0, 0.0), r"multiplier: 256 at lanes\[0\] is no unsigned integer of 8 bits"),
        (1, (0, -1, 0.0), "multiplier: the offset -1 is no unsigned integer of 8 bits"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(factor, item, message):
    with pytest.raises(SimulationError, match=message):
        run_block(
            PositionMultiplier("multiplier", 1, 8), inputs_of(1, [factor], [[item]]), ports("products", 1)
        )
