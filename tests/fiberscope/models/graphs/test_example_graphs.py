"""Example graphs of single primitives: what they leave of tensors, and what their blocks had to do."""

from pathlib import Path

import numpy as np
import pytest

from fiberscope.models.graphs import run

GRAPHS = Path(__file__).parents[4] / "examples" / "graphs"
B = np.array([[0.0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0], [0, 4, 5, 0]])
C = np.array([[1.0, 0, 1, 0], [1, 1, 1, 1], [2, 0, 0, 0], [0, 0, 3, 3]])
SUMS = {"b": np.array([1.0, -2, 0, 3, 4]), "c": np.array([-1.0, 2, 5, 0, 4])}


def counted(name, operands, block, counter):
    report = run(GRAPHS / f"{name}.gv", operands)
    assert report.verification.passed
    (found,) = [part for at, part in report.components.items() if at.rpartition(".")[2].startswith(block)]
    return found.counters[counter]


def test_sums_that_are_zero_leave_no_coordinate():
    assert counted("drop_zeros", SUMS, "crddrop", "dropped") == 2
    assert counted("drop_zeros", {name: np.abs(one) for name, one in SUMS.items()}, "crddrop", "dropped") == 0


def test_stops_of_empty_fibers_are_dropped():
    """Row 0 of the product is empty; row 1 of B is not met at all."""
    assert counted("empty_fibers", {"B": B, "C": C}, "emptystopdrop", "dropped") == 1
    assert counted("empty_fibers", {"B": C, "C": C}, "emptystopdrop", "dropped") == 0


@pytest.mark.parametrize(("name", "operand"), [("split_flatten", np.arange(11.0) % 3), ("points", B)])
def test_what_is_taken_apart_is_put_together(name, operand):
    report = run(GRAPHS / f"{name}.gv", {"b" if operand.ndim == 1 else "B": operand})
    assert report.verification.passed
    assert sum(report.operations.values()) == 0
