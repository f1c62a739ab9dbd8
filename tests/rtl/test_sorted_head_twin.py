"""The merge core's twins: the worked example, their comparators, one before an accumulator."""

import pytest
from merge_rows import inputs_of
from scenarios import SCENARIOS

from fiberscope.hw.fibers import arithmetic_rtl as accumulator
from fiberscope.hw.fibers.arithmetic_rtl import AccumulatorParameters
from fiberscope.hw.fibers.sorted_head import FORMS, SEQUENTIAL, SYSTOLIC
from fiberscope.hw.fibers.sorted_head_rtl import BLOCK, SortedHeadParameters
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.sim.testing import run_block

SCENARIO = SCENARIOS["sorted_head"]
WORKED = [[(1, 1.0), (4, 2.0)], [(2, 4.0), (4, 8.0)], [(2, 16.0), (3, 32.0)]]


def run(block, parameters, inputs, outputs):
    adapter = block.adapter("unit", block.interface(parameters), PyrtlBackend(block.twin(parameters)))
    return run_block(adapter, inputs, outputs)


@pytest.mark.parametrize("form", FORMS)
def test_the_worked_example_takes_12_swaps(form):
    outputs = ["merged", "successors"]
    outcome = run(BLOCK, SortedHeadParameters(form, 4), inputs_of([WORKED]), outputs)
    assert outcome.statistics["unit"].counters["swaps"] == 12
    products = {"products": outcome.tokens("merged")}
    sums = run(accumulator.BLOCK, AccumulatorParameters(), products, ["sums"])
    assert [token[1::2] for token in sums.tokens("sums")] == [
        (1, 1.0),
        (2, 20.0),
        (3, 32.0),
        (4, 10.0),
        (0, 0.0),
    ]


@pytest.mark.parametrize(("form", "comparators"), [(SYSTOLIC, 16), (SEQUENTIAL, 1)])
def test_it_has_the_comparators_of_its_form(form, comparators):
    block = BLOCK.twin(SortedHeadParameters(form, 16)).block
    key = 32 + 4  # column and list
    assert sum(net.op == "<" and len(net.args[0]) == key for net in block.logic) == comparators


def test_what_cannot_be_built_is_refused():
    with pytest.raises(ValueError, match="accumulator: sum_bits must be from 32 to 53, not 20"):
        AccumulatorParameters(sum_bits=20)
