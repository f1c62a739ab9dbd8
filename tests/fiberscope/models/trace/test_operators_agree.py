"""One meaning for each operator: of the trace, its reference, ALUs, reducers, and the functions of graphs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.operations import BINARY, UNARY
from fiberscope.hw.value_type import DOUBLE
from fiberscope.models.trace.body import apply
from fiberscope.models.trace.codes import OPCODES
from fiberscope.models.trace.program import BUILT_IN
from fiberscope.models.trace.reference import FUNCTIONS as REFERENCE
from fiberscope.workloads.expressions.functions import FUNCTIONS

values = st.sampled_from([0.0, 1.0, -1.0, 2.5, -7.0, math.inf, -math.inf, math.nan])
BY_ALU = sorted(OPCODES.keys() & BINARY.keys() - {"div"})  # of what a graph divides by 0 it makes 0
NAMES = sorted(OPCODES)


def same(first, second):
    return first == second or (math.isnan(first) and math.isnan(second))


def test_every_operator_of_the_language_has_a_name_in_each_table():
    assert set(BUILT_IN) == set(OPCODES) == set(REFERENCE)
    assert set(OPCODES) <= set(BINARY) | set(UNARY)
    assert set(OPCODES) <= set(FUNCTIONS)


@pytest.mark.parametrize("name", BY_ALU)
@given(left=values, right=values)
def test_an_alu_computes_what_the_trace_computes(name, left, right):
    assert same(operate(BINARY[name], left, right, DOUBLE), apply(OPCODES[name], left, right))


@pytest.mark.parametrize("name", NAMES)
@given(left=values, right=values)
def test_the_reference_and_graphs_compute_what_the_trace_computes(name, left, right):
    expected = apply(OPCODES[name], left, right)
    operands = [np.array([left]), np.array([right])]
    with np.errstate(all="ignore"):
        assert same(float(REFERENCE[name](*operands)[0]), expected)
        own = FUNCTIONS[name].apply(*operands[: BUILT_IN[name].arguments])
    assert same(float(own[0]), expected)
