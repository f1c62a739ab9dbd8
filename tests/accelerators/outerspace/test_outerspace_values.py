"""OuterSPACEs whose values are of a type: products are added up from the largest k on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outerspace_bench import configurations, operands, run_outerspace, small_operands, tiny
from typed_values import NUMPY, check_product, from_the_left, reals


def from_the_right(products):
    """The sum of products from the largest k on: of equal columns the last node's leaves first."""
    return from_the_left(products[::-1])


@pytest.mark.parametrize("name", NUMPY)
@given(operands(), configurations(), st.integers(0, 10**6))
def test_each_product_and_sum_is_rounded_from_the_largest_k_on(name, pair, parameters, seed):
    a, b = (reals(one, seed + i) for i, one in enumerate(pair))
    machine = run_outerspace(parameters.model_copy(update={"value": name}), a, b)
    check_product(machine.result(), a, b, NUMPY[name], from_the_right)


def test_units_add_up_in_the_same_type():
    a, b = (reals(one, i) for i, one in enumerate(small_operands()))
    units = {"merge__heads": "unit", "merge__max_lists": 12, "alloc__links": "unit"}
    check_product(
        run_outerspace(tiny(value="float32", **units), a, b).result(), a, b, NUMPY["float32"], from_the_right
    )


def test_narrow_values_move_so_much_less():
    """Of T 4 bytes of 12 an element, and of A's and B's values half; headers, links and indices stay."""
    a, b = small_operands()
    wide, narrow = (run_outerspace(tiny(value=name), a, b) for name in ("float64", "float32"))
    before, after = wide.traffic(), narrow.traffic()
    for tensor, moved in (("T", wide.operations()["multiply"]), ("Z", wide.result().nnz)):
        saved = before[tensor].useful_write_bytes - after[tensor].useful_write_bytes
        assert saved == 4 * moved
    assert (wide.result() != narrow.result()).nnz == 0
