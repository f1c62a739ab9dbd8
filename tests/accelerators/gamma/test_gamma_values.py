"""Gammas whose values are of a type: rounded in the machine's order, and verified by what that allows."""

import numpy as np
import pytest
from gamma_bench import configurations, operands, small_operands
from hypothesis import given
from hypothesis import strategies as st

from fiberscope import simulate
from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.gamma import Gamma, machine
from fiberscope.errors import VerificationError
from fiberscope.hw.fibers.arrays import rounded_to
from fiberscope.sim import Kernel

NUMPY = {"float32": np.float32, "float64": np.float64}
ROUNDOFF = {"float32": 2**-24, "float64": 2**-52, "bfloat16": 2**-8}


def reals(matrix, seed, scale=3):
    """The matrix with any values, of sizes that differ by so many powers of ten either way."""
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(matrix.nnz) * 10.0 ** generator.integers(-scale, scale + 1, matrix.nnz)
    return type(matrix)((values, matrix.indices, matrix.indptr), shape=matrix.shape)


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
@pytest.mark.parametrize("scale", [0, 18])
def test_rounding_is_no_fault(name, scale):
    a, b = (reals(one, i, scale) for i, one in enumerate(small_operands()))
    verification = simulate("gamma", a, b, settings={"value": name}).verification
    assert verification.passed
    assert 30 * ROUNDOFF[name] < verification.tolerance < 60 * ROUNDOFF[name]


@pytest.mark.parametrize(("name", "error"), [("float32", 1e-4), ("bfloat16", 2.0), ("float64", 1e-11)])
def test_planted_operands_that_are_off_by_more_are_found(name, error, monkeypatch):
    monkeypatch.setattr(machine, "rounded_to", lambda *given: rounded_to(*given) * (1 + error))
    with pytest.raises(VerificationError, match="product is wrong: relative error"):
        simulate("gamma", *small_operands(), settings={"value": name})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("integer", 0.5, "B: 0.5 is no integer; --set value names another type"),
        ("float32", 1e39, r"B: 1e\+39 is no float32; --set value names another type"),
    ],
)
def test_what_is_no_number_of_a_type_is_refused(name, value, message):
    a, b = small_operands()
    b.data[3] = value
    with pytest.raises(ConfigurationError, match=f"^{message}$"):
        simulate("gamma", a, b, settings={"value": name})
