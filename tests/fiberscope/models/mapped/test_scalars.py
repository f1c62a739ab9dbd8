"""Names of numbers in the Einsums of a machine: values by ``a=2`` or ``--set a=2``."""

import json
import re

import numpy as np
import pytest

import fiberscope
from fiberscope import cli
from fiberscope.accelerators.errors import ConfigurationError

SPECIFICATION = """\
einsum:
  declaration: {{A: [M], B: [M], Z: [M]}}
  expressions: ["Z[m] = {expression}"]
"""
OPERANDS = ["A=uniform:rows=30,cols=1,nonzeros=12", "B=uniform:rows=30,cols=1,nonzeros=15,seed=1"]
TENSORS = dict(operand.split("=", 1) for operand in OPERANDS)


def write(tmp_path, expression, symbols=""):
    path = tmp_path / "own.yaml"
    path.write_text(symbols + SPECIFICATION.format(expression=expression))
    return str(path)


@pytest.mark.parametrize("value", [2, -3, 0.25])
@pytest.mark.parametrize(
    "expression", ["a * A[m] + B[m]", "a * (A[m] - B[m])", "A[m] * B[m] * a", "A[m] - a * B[m]"]
)
def test_a_symbol_is_computed_as_its_number(tmp_path, expression, value):
    path, settings = write(tmp_path, expression), {"a": value}
    run = fiberscope.simulate(path, tensors=TENSORS, settings=settings)
    trace = fiberscope.model(path, tensors=TENSORS, settings=settings)
    assert run.verification.passed
    np.testing.assert_allclose(run.result.toarray(), trace.result.toarray())
    for operation in ("multiply", "add"):
        names = ("add", "subtract", "sub") if operation == "add" else (operation,)
        assert run.operations[operation] == sum(trace.operations.get(name, 0) for name in names)


@pytest.mark.parametrize("command", ["sim", "model", "check"])
@pytest.mark.parametrize("given", [["a=2"], ["--set", "a=2"]])
def test_a_value_is_an_operand_or_a_setting(tmp_path, command, given, printed):
    path = write(tmp_path, "a * A[m] + B[m]")
    assert "WRONG" not in printed(command, path, *OPERANDS, *given, "-q")


def test_a_declared_value_holds_until_it_is_set(tmp_path):
    path = write(tmp_path, "a * A[m] + B[m]", "symbols: {a: 5}\n")
    five = fiberscope.simulate(path, tensors=TENSORS)
    two = fiberscope.simulate(path, tensors=TENSORS, settings={"a": 2})
    a = (five.result - two.result).toarray() / 3
    np.testing.assert_allclose(five.result.toarray() - 5 * a, two.result.toarray() - 2 * a, atol=1e-12)
    assert abs(a).max() > 0
    assert two.config["a"] == 2


@pytest.mark.parametrize("run", [fiberscope.simulate, fiberscope.model])
def test_a_missing_value_is_named_with_the_way_to_give_it(tmp_path, run):
    path = write(tmp_path, "a * A[m] + B[m]")
    with pytest.raises(
        ConfigurationError, match=re.escape("symbol a has no value; give it one by --set a=2")
    ):
        run(path, tensors=TENSORS)


def test_a_run_with_a_value_is_repeated_from_its_report(tmp_path):
    path, report = write(tmp_path, "a * A[m] + B[m]"), tmp_path / "report.json"
    assert cli.run(["sim", path, *OPERANDS, "a=2", "-q", "--json", str(report)]) == 0
    assert json.loads(report.read_text())["config"]["a"] == 2
    assert cli.run(["rerun", str(report)]) == 0
