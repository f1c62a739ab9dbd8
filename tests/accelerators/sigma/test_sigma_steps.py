"""Columns one by one, or those of a pass in one step: the same cycles, accounting, counters and sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sigma_bench import TINY, makes, operands, ran

from fiberscope.accelerators.testing import outcome
from fiberscope.workloads import draw


@given(operands(), makes())
def test_both_steps_give_the_same(given_operands, make):
    one_by_one, at_once = (ran(given_operands, make | {"step": step}) for step in ("column", "chunk"))
    assert outcome(one_by_one) == outcome(at_once)
    a, b = given_operands
    assert np.array_equal(one_by_one.result(), (a @ b).toarray())
    assert not one_by_one.plan.passes


def test_a_column_waits_for_the_sums_of_the_pass_before_it():
    """The last column of the first pass takes the output 2 cycles; the next pass sends a column a cycle."""
    a = sparse.csr_array(([1.0, 1.0, 1.0], ([0, 0, 1], [4, 6, 5])), shape=(2, 7))
    b = sparse.csr_array(([1.0, 1.0, 1.0], ([0, 0, 6], [0, 1, 1])), shape=(7, 2))
    make = TINY | {
        "slice.k": 3,
        "input.words_per_cycle": 1,
        "output.words_per_cycle": 1,
        "memory.model": "none",
    }
    for step in ("column", "chunk"):
        accumulators = outcome(ran((a, b), make | {"step": step}))["statistics"]["sigma.accumulators"]
        assert accumulators["busy"] == accumulators["counters"]["sums_taken"] == 6


@settings(max_examples=8)
@given(st.integers(0, 5), st.sampled_from(["A", "B"]), st.sampled_from([0, 4]))
def test_values_that_are_rounded_are_added_in_the_same_order(seed, stationary, words):
    pair = draw(f"gemm:m=13,n=9,k=17,a=0.6,b=0.7,values=bf16,seed={seed}")
    both = [one.matrix for one in pair]
    for one in both:
        one.data *= np.pi  # no longer exact
    make = TINY | {"stationary": stationary, "input.words_per_cycle": words}
    one_by_one, at_once = (ran(both, make | {"step": step}) for step in ("column", "chunk"))
    assert outcome(one_by_one) == outcome(at_once)
    assert np.allclose(at_once.result(), (both[0] @ both[1]).toarray(), rtol=1e-12)


@pytest.mark.parametrize("extra", [{}, {"load.double_buffer": True}, {"memory.model": "none"}])
def test_both_steps_on_a_larger_machine(extra):
    pair = draw("gemm:m=70,n=40,k=300,a=0.3,b=0.5")
    make = {"dpe.count": 8, "dpe.multipliers": 32, "slice.k": 20, "memory.model": "simple", **extra}
    one_by_one, at_once = (ran(pair, make | {"step": step}) for step in ("column", "chunk"))
    assert outcome(one_by_one) == outcome(at_once)
    assert one_by_one.kernel.ticks > 3 * at_once.kernel.ticks
