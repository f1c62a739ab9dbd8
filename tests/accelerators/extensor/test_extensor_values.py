"""ExTensors whose values are of a type: sums of sums, of a microtile, of a tile, and of all tiles along K."""

from itertools import groupby

import pytest
from extensor_bench import configurations, operands, run_extensor, small_operands, tiny
from hypothesis import given
from hypothesis import strategies as st
from typed_values import NUMPY, check_product, from_the_left, reals


def by_blocks(sides):
    """A sum of sums: of the products of each block of so many coordinates of K, and of smaller ones in it."""

    def summed(products):
        if not sides:
            return from_the_left(products)
        blocks = groupby(products, lambda one: one[0] // sides[0])
        return from_the_left((k, by_blocks(sides[1:])(list(block))) for k, block in blocks)

    return summed


def sides_of(machine):
    """Coordinates along K of a tile of the buffer, and of a microtile."""
    side = machine.parameters.pe.tile
    return machine.parameters.tile.k * side, side


@pytest.mark.parametrize("name", NUMPY)
@given(operands(), configurations(), st.integers(0, 10**6))
def test_each_product_and_sum_is_rounded_tile_by_tile(name, pair, parameters, seed):
    a, b = (reals(one, seed + i) for i, one in enumerate(pair))
    alone = parameters.pe.model_copy(update={"count": 1})  # partial outputs of several come as they are ready
    machine = run_extensor(parameters.model_copy(update={"value": name, "pe": alone}), a, b)
    check_product(machine.result(), a, b, NUMPY[name], by_blocks(sides_of(machine)))


def test_units_add_up_in_the_same_type():
    a, b = (reals(one, i) for i, one in enumerate(small_operands()))
    machine = run_extensor(tiny(value="float32", pe__count=1, step="unit"), a, b)
    check_product(machine.result(), a, b, NUMPY["float32"], by_blocks(sides_of(machine)))
