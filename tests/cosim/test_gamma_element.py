"""Gamma's processing element as Verilog, in HDL simulators, in the event model's place."""

import pytest
from whole_matrices import SMALL, written

from fiberscope.rtl.loop import compare
from fiberscope.rtl.order import Loop
from fiberscope.rtl.places import ALL, MACHINE


@pytest.mark.parametrize("simulator", ["icarus", pytest.param("verilator", marks=pytest.mark.slow)])
def test_its_verilog_is_the_event_model(simulator, tmp_path):
    loop = Loop(("pe",), "gamma", written(tmp_path, 1, 20, 0.2), settings=SMALL)
    outcome = compare(loop, simulator, tmp_path)
    assert outcome.differences() == []
    assert outcome.rtl.verification.passed


def test_so_are_all_modules_of_the_machine(tmp_path):
    loop = Loop((ALL,), "gamma", written(tmp_path, 1, 20, 0.2), settings=(*SMALL, "memory.channels=2"))
    outcome = compare(loop, "icarus", tmp_path)
    assert outcome.differences() == []
    assert outcome.rtl.verification.passed


@pytest.mark.parametrize("simulator", ["icarus", pytest.param("verilator", marks=pytest.mark.slow)])
def test_so_is_the_machine_as_one_module(simulator, tmp_path):
    settings = (*SMALL, "pe.radix=8", "memory.channels=2", "fibercache.size=4KiB")
    loop = Loop((MACHINE,), "gamma", written(tmp_path, 1, 16, 0.3), settings=settings)
    outcome = compare(loop, simulator, tmp_path)
    assert outcome.differences() == []
    assert outcome.rtl.verification.passed
