"""Parameters that a module takes from the component that it replaces in a machine or graph."""

import pytest

from fiberscope.hw.streams.reduce import ScalarReduce
from fiberscope.hw.streams.values_rtl import REDUCER


@pytest.mark.parametrize("operation", ["sum", "max", "min"])
def test_a_reducer_has_the_operation_of_its_component(operation: str) -> None:
    assert REDUCER.instance(ScalarReduce("block", operation))["operation"] == operation


def test_a_reducer_without_hardware_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^block: no hardware here reduces other than by sum, max, min"):
        REDUCER.instance(ScalarReduce("block", "mul"))
