"""The setting ``value``, of every machine that has it."""

import re

import numpy as np
import pytest
from machine_case import cases
from scipy import sparse
from typed_values import reals

from fiberscope import accelerators, simulate
from fiberscope.accelerators import values
from fiberscope.accelerators.configuration import ConfigurationError, load
from fiberscope.hw.fibers.arrays import rounded_to
from fiberscope.hw.value_type import TYPES
from fiberscope.results.errors import VerificationError
from fiberscope.results.report.summary import verification_line

FLOATS = {"float32": 1e-4, "float64": 1e-11, "bfloat16": 2.0}  # and errors that are above what each allows
TYPED = ("extensor", "gamma", "outerspace", "sigma")
MACHINES = {case.accelerator: case for case in cases().values() if case.accelerator in TYPED}
every_machine = pytest.mark.parametrize("case", MACHINES.values(), ids=MACHINES)


UNITS = {"extensor": 1, "gamma": 8, "outerspace": 8}  # bits of the unit of the sizes in ``format``


def setting_of(case):
    """SIGMA's section ``value`` has bytes besides."""
    return "value.type" if case.accelerator == "sigma" else "value"


def values_of(result):
    return result.data if sparse.issparse(result) else result


def run(case, operands, name):
    settings = {**next(iter(case.variants.values())), setting_of(case): name}
    return simulate(case.accelerator, *operands, settings=settings)


@pytest.mark.parametrize(
    ("value", "bits"), [("auto", 64), ("integer", 32), ("float32", 32), ("float64", 64), ("bfloat16", 16)]
)
@pytest.mark.parametrize("name", UNITS)
def test_an_element_takes_what_its_value_does_unless_said_otherwise(name, value, bits):
    kind, unit = accelerators.find(name), UNITS[name]

    def sizes(**chosen):
        settings = {"value": value} | {f"format.{key}": size // unit for key, size in chosen.items()}
        form = load(kind.configuration, kind.shipped, name=name, settings=settings).format
        return {
            key: getattr(form, key) * unit for key in ("element", "value", "output") if hasattr(form, key)
        }

    assert sizes() == {"element": 32 + bits, "value": bits} | ({"output": 64 + bits} if unit == 1 else {})
    assert sizes(element=128, value=32).items() >= {"element": 128, "value": 32}.items()


@every_machine
@pytest.mark.parametrize("scale", [0, 18])
def test_rounding_is_no_fault(case, scale):
    a, b = (reals(one, i, scale) for i, one in enumerate(case.operands()))
    for name in FLOATS:
        assert run(case, (a, b), name).verification.passed


@every_machine
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_an_overflow_is_counted_and_no_fault(case, name):
    report = run(case, tuple(reals(one, i, 25) for i, one in enumerate(case.operands())), name)
    assert report.verification.passed
    assert report.verification.overflows == np.count_nonzero(~np.isfinite(values_of(report.result))) > 0
    assert re.search(r"; \d+ values? overflows? to infinity", verification_line(report))


@every_machine
def test_small_whole_numbers_give_the_same_in_all_types(case):
    assert {
        run(case, case.operands(), name).verification.max_relative_error for name in (*FLOATS, "integer")
    } == {0.0}


@every_machine
def test_planted_operands_that_are_off_by_more_are_found(case, monkeypatch):
    for name, error in FLOATS.items():
        monkeypatch.setattr(
            values, "rounded_to", lambda *given, error=error: rounded_to(*given) * (1 + error)
        )
        with pytest.raises(VerificationError, match="product is wrong: relative error"):
            run(case, case.operands(), name)


@every_machine
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("integer", 0.5, "B: 0.5 is no integer; --set {} names another type"),
        ("float32", 1e39, r"B: 1e\+39 is no float32; --set {} names another type"),
    ],
)
def test_what_is_no_number_of_a_type_is_refused(case, name, value, message):
    a, b = case.operands()
    b.data[3] = value
    with pytest.raises(ConfigurationError, match=f"^{message.format(setting_of(case))}$"):
        run(case, (a, b), name)


@pytest.mark.parametrize("name", TYPES)
def test_a_matrix_times_itself_is_one_operand_in_every_type(name):
    matrix, equal = (sparse.csr_array(np.diag([1.0, 2.0, 3.0])) for _ in range(2))
    a, b = values.convert_values(TYPES[name], matrix, matrix)
    assert b is a
    first, second = values.convert_values(TYPES[name], matrix, equal)
    assert second is not first
    assert (second.toarray() == equal.toarray()).all()


def test_each_operand_has_its_own_values_rounded_and_the_given_ones_stay():
    a, b = (sparse.csr_array(np.array([[1.0, value]])) for value in (1.0 + 2.0**-9, 3.0 + 2.0**-9))
    rounded = values.convert_values(TYPES["bfloat16"], a, b)
    assert [one.toarray().tolist() for one in rounded] == [[[1.0, 1.0]], [[1.0, 3.0]]]
    assert [one.data[1] for one in (a, b)] == [1.0 + 2.0**-9, 3.0 + 2.0**-9]
