"""Machines from specifications with values of a type: rounded to it, and verified with room for that."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fiberscope
from fiberscope.models.from_spec import stage_blocks
from fiberscope.models.graphs.storage import round_values
from fiberscope.results.errors import VerificationError

EXAMPLES = Path(__file__).parents[4] / "examples" / "specifications"
LAYER, GAMMA = str(EXAMPLES / "layer.yaml"), "spec:gamma"


def operands(machine):
    draws = np.random.default_rng(3)
    shapes = (
        {"A": (20, 30), "X": (30, 12), "W": (12, 9)} if machine == LAYER else {"A": (20, 20), "B": (20, 20)}
    )
    return {
        name: draws.standard_normal(shape) * (draws.random(shape) < 0.5) for name, shape in shapes.items()
    }


@pytest.mark.parametrize("machine", [GAMMA, "spec:gamma-figure", LAYER])
def test_all_that_is_written_is_of_the_type(machine):
    given = operands(machine)
    runs = {value: fiberscope.simulate(machine, tensors=given, value=value) for value in ("auto", "float32")}
    rounded = runs["float32"].result.data
    assert np.array_equal(rounded, rounded.astype(np.float32))
    assert not np.array_equal(rounded, runs["auto"].result.data.astype(np.float32))
    assert runs["float32"].cycles == runs["auto"].cycles
    assert runs["float32"].verification.passed
    assert 2**-24 < runs["float32"].verification.tolerance < 1e-4


@pytest.mark.parametrize("value", ["float32", "bfloat16"])
def test_what_is_too_small_or_too_large_for_the_type_is_no_fault(value):
    tiny = np.array([[0.0, 1e-30], [1e-30, 1.0]])
    assert fiberscope.simulate(GAMMA, tensors={"A": tiny, "B": tiny}, value=value).verification.passed
    large = np.array([[1e38, -1e38], [10.0, 10.0]])
    report = fiberscope.simulate(GAMMA, tensors={"A": large, "B": large}, value=value)
    assert report.verification.passed
    assert report.verification.overflows == 4


def test_planted_operands_that_are_off_by_more_than_rounding_are_found(monkeypatch):
    def off(value_type, tensors):
        found = round_values(value_type, tensors)
        return {name: replace(tensor, values=tensor.values * 1.001) for name, tensor in found.items()}

    monkeypatch.setattr(stage_blocks, "round_values", off)
    with pytest.raises(VerificationError, match="relative error"):
        fiberscope.simulate(GAMMA, tensors=operands(GAMMA), value="float32")
