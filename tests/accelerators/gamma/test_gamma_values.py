"""Gammas whose values are of a type: rounded in the machine's order, and verified by what that allows."""

import pytest
from gamma_bench import configurations, operands, small_operands
from hypothesis import given
from hypothesis import strategies as st
from typed_values import NUMPY, reals

from fiberscope import simulate
from fiberscope.accelerators.gamma import Gamma
from fiberscope.sim import Kernel

ROUNDOFF = {"float32": 2**-24, "float64": 2**-52, "bfloat16": 2**-8}


def made(gamma, task, kind):
    """The fiber of a task: what its inputs have at a coordinate is added up in their order, one by one."""
    table, a, b = gamma.table, gamma.a, gamma.b
    found = {}
    for source in table.inputs[table.first_inputs[task] : table.first_inputs[task + 1]]:
        if source < 0:
            elements = made(gamma, -1 - source, kind).items()
        else:
            row = slice(*b.pointers[a.coordinates[source] : a.coordinates[source] + 2])
            scaled = [kind(a.values[source]) * kind(value) for value in b.values[row]]
            elements = zip(b.coordinates[row], scaled, strict=True)
        for coordinate, value in elements:
            found[coordinate] = found[coordinate] + value if coordinate in found else value
    return found


@pytest.mark.parametrize("name", NUMPY)
@given(configurations(), operands(), st.integers(0, 10**6))
def test_each_product_and_sum_is_rounded_in_the_order_of_the_machine(name, parameters, pair, seed):
    typed = parameters.model_copy(update={"value": name, "reorder": "none"})
    a, b = (reals(one, seed + i) for i, one in enumerate(pair))
    for kernel in (None, Kernel()):  # worked out ahead, and unit by unit
        gamma = Gamma(typed, a, b, kernel=kernel)
        gamma.kernel.run()
        roots = [task for task in range(gamma.table.count) if gamma.table.parents[task] < 0]
        rows = {gamma.table.rows[task]: made(gamma, task, NUMPY[name]) for task in roots}
        found = gamma.result()
        for row in range(a.shape[0]):
            entries = slice(*found.indptr[row : row + 2])
            expected = sorted(rows.get(row, {}).items())
            assert found.indices[entries].tolist() == [coordinate for coordinate, _value in expected]
            assert found.data[entries].tolist() == [float(value) for _coordinate, value in expected]


@pytest.mark.parametrize("name", ROUNDOFF)
def test_the_tolerance_is_that_of_the_type(name):
    verification = simulate("gamma", *small_operands(), settings={"value": name}).verification
    assert 30 * ROUNDOFF[name] < verification.tolerance < 60 * ROUNDOFF[name]
