"""Parameters that a module takes from the component that it replaces in a machine or graph."""

import math

import pytest

from fiberscope.hw.streams.absent_values_rtl import ALU as FILLING_ALU
from fiberscope.hw.streams.absent_values_rtl import ARRAY as MARKED_ARRAY
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.hw.streams.values_rtl import REDUCER


@pytest.mark.parametrize("operation", ["sum", "max", "min"])
def test_a_reducer_has_the_operation_of_its_component(operation: str) -> None:
    assert REDUCER.instance(ScalarReduce("block", operation))["operation"] == operation


def test_a_reducer_without_hardware_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^block: no hardware here reduces other than by sum, max, min"):
        REDUCER.instance(ScalarReduce("block", "mul"))


@pytest.mark.parametrize("value", [0.5, 65537.0, math.nan])
def test_an_absent_value_without_hardware_is_refused(value: float) -> None:
    array, alu = ArrayLoad("block", [1.0]), Alu("block", "mul")
    for block, component in ((MARKED_ARRAY, array), (FILLING_ALU, alu)):
        component.empty = value
        with pytest.raises(ValueError, match=f"^no hardware here has absent values of {value:g}, but whole"):
            block.instance(component)
