"""One meaning for each operator: of the trace, its reference, ALUs, reducers, and the functions of graphs."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fiberscope.hw.streams.alu import operate
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.operations import BINARY, UNARY
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.hw.streams.run_sum import RunSum
from fiberscope.hw.streams.task_sum import TaskSum
from fiberscope.hw.streams.tensor_reduce import TensorReduce
from fiberscope.hw.streams.testing import run_streams, with_gaps
from fiberscope.hw.value_type import DOUBLE
from fiberscope.models.trace.body import apply
from fiberscope.models.trace.codes import OPCODES
from fiberscope.models.trace.program import BUILT_IN
from fiberscope.models.trace.reference import FUNCTIONS as REFERENCE
from fiberscope.workloads.expressions.functions import FUNCTIONS

values = st.sampled_from([0.0, 1.0, -1.0, 2.5, -7.0, math.inf, -math.inf, math.nan])
BY_ALU = sorted(OPCODES.keys() & BINARY.keys())
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


def outer_coordinate():
    """The outer coordinate of one task."""
    column = Growing()
    column.append(0)
    return [column]


def reduced_by_scalar(operation, operands):
    inputs = {"in_val": with_gaps([*operands, "S0", "D"])}
    return run_streams(ScalarReduce("block", operation), inputs, ["out_val"])["out_val"][0][1]


def reduced_by_run(operation, operands):
    inputs = {"in_crd": with_gaps([*[3] * len(operands), "D"]), "in_val": with_gaps([*operands, "D"])}
    return run_streams(RunSum("block", operation), inputs, ["out_val"], checked=False)["out_val"][0][1]


def reduced_by_tensor(operation, operands):
    inputs = {"in_crd[0]": with_gaps([*[3] * len(operands), "D"]), "in_val": with_gaps([*operands, "D"])}
    return run_streams(TensorReduce("block", 1, operation=operation), inputs, ["out_val"])["out_val"][0][1]


def reduced_by_task(operation, operands):
    block = TaskSum("block", 1, 1, outer_coordinate(), operation=operation)
    inputs = {
        "turns": with_gaps([0, "D"]),
        "in_0[0]": with_gaps([*[3] * len(operands), "S0", "D"]),
        "in_val[0]": with_gaps([*operands, "S0", "D"]),
    }
    run_streams(block, inputs, [])
    return block.sums.value(0)


REDUCERS = (reduced_by_scalar, reduced_by_run, reduced_by_tensor, reduced_by_task)


@pytest.mark.parametrize("reduced", REDUCERS)
@pytest.mark.parametrize("name", BY_ALU)
@settings(max_examples=20)
@given(operands=st.lists(values, min_size=2, max_size=4))
def test_a_reducer_computes_what_the_trace_computes(name, reduced, operands):
    expected = functools.reduce(lambda total, value: apply(OPCODES[name], total, value), operands)
    assert same(reduced(name, operands), expected)


@pytest.mark.parametrize("reduced", REDUCERS)
def test_a_reducer_has_no_operation_that_the_trace_lacks(reduced):
    assert {BINARY[name] for name in BY_ALU} == set(BINARY.values())
    with pytest.raises(ValueError, match="block has no operation divv; did you mean div"):
        reduced("divv", [8.0, 2.0])


@pytest.mark.parametrize("name", NAMES)
@given(left=values, right=values)
def test_the_reference_and_graphs_compute_what_the_trace_computes(name, left, right):
    expected = apply(OPCODES[name], left, right)
    operands = [np.array([left]), np.array([right])]
    with np.errstate(all="ignore"):
        assert same(float(REFERENCE[name](*operands)[0]), expected)
        own = FUNCTIONS[name].apply(*operands[: BUILT_IN[name].arguments])
    assert same(float(own[0]), expected)
