"""SIGMAs whose values are of a type: trees of adders in each Flex-DPE, and their sums one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sigma_bench import TINY, operands, ran
from typed_values import NUMPY, reals

from fiberscope.accelerators.configuration import ConfigurationError
from fiberscope.accelerators.testing import random_operands


def tree(leaves, first):
    """The sum of leaves from this one on: of what lies on both sides of the highest adder between them."""
    if len(leaves) == 1:
        return leaves[0]
    last = first + len(leaves) - 1
    boundary = last >> (first ^ last).bit_length() - 1 << (first ^ last).bit_length() - 1
    return tree(leaves[: boundary - first], first) + tree(leaves[boundary - first :], boundary)


def plain(a, b, settings, kind):
    """The product by nonzeros of A that lie slice by slice, row by row in lines of multipliers."""
    width, lanes = settings["slice.k"], settings["dpe.multipliers"]
    points = a.tocoo()
    held = sorted((k // width, m, k, value) for m, k, value in zip(*points.coords, points.data, strict=True))
    runs = {}
    for place, (number, m, k, value) in enumerate(held):
        runs.setdefault((place // lanes, number, m), (place % lanes, []))[1].append((k, kind(value)))
    right, found = b.toarray(), np.zeros((a.shape[0], b.shape[1]))
    for (_line, _number, m), (first, weights) in runs.items():
        for column in range(b.shape[1]):
            products = [weight * kind(right[k, column]) for k, weight in weights]
            found[m, column] = kind(found[m, column]) + tree(products, first)
    return found


@pytest.mark.parametrize("name", NUMPY)
@given(operands(), st.sampled_from([2, 4, 8]), st.sampled_from(["column", "chunk"]), st.integers(0, 10**6))
def test_products_and_sums_are_rounded_as_the_adders_stand(name, pair, lanes, step, seed):
    settings = TINY | {"dpe.multipliers": lanes, "slice.k": lanes, "pack.filter": "none", "step": step}
    settings |= {"value.type": name, "memory.model": "none"}
    a, b = (reals(one, seed + i) for i, one in enumerate(pair))
    assert np.array_equal(ran((a, b), settings).result(), plain(a, b, settings, NUMPY[name]))


def test_units_compute_with_doubles():
    message = r"value.type is float32; Flex-DPEs made of units compute with doubles: auto or integer"
    settings = TINY | {"value.type": "float32", "step": "unit", "controller.first_fold": "counted"}
    with pytest.raises(ConfigurationError, match=message):
        ran(random_operands(4, 4, 4, 4), settings)
