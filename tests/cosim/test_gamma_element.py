"""Gamma's processing element as Verilog, in HDL simulators, in the event model's place."""

import re
import sys

import pytest
from optional_programs import needs
from whole_matrices import SMALL, written

from fiberscope import cli
from fiberscope.hw.rtl.tools.hdl import Bench, FailedBenchError, run
from fiberscope.rtl.cosim_request import CosimRequest
from fiberscope.rtl.cosimulation import cosimulate
from fiberscope.rtl.substitution import ALL, MACHINE


def test_its_verilog_is_the_event_model(simulator, tmp_path):
    loop = CosimRequest(("pe",), "gamma", written(tmp_path, 1, 20, 0.2), settings=SMALL)
    outcome = cosimulate(loop, simulator, tmp_path)
    assert outcome.differences() == []
    assert outcome.rtl.verification.passed


@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["auto"], indirect=True)
def test_so_are_all_modules_of_the_machine(simulator, tmp_path):
    loop = CosimRequest(
        (ALL,), "gamma", written(tmp_path, 1, 20, 0.2), settings=(*SMALL, "memory.channels=2")
    )
    outcome = cosimulate(loop, simulator, tmp_path)
    assert outcome.differences() == []
    assert outcome.rtl.verification.passed


@pytest.mark.slow  # the default run has it with memories of AXI4, and in PyRTL
def test_so_is_the_machine_as_one_module(simulator, tmp_path):
    settings = (*SMALL, "memory.channels=2", "fibercache.size=4KiB")
    loop = CosimRequest((MACHINE,), "gamma", written(tmp_path, 1, 10, 0.3), settings=settings)
    outcome = cosimulate(loop, simulator, tmp_path)
    assert outcome.differences() == []
    assert outcome.rtl.verification.passed


def exported(folder, *settings, whole=True):
    """The files of the machine as one module with AXI4."""
    matrix = written(folder, 1, 14, 0.3, whole=whole)
    options = [f"--set={setting}" for setting in (*SMALL, "memory.channels=2", *settings)]
    return cli.run(["rtl", "export", "gamma", matrix, *options, "-o", str(folder / "gamma")])


def bench(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder / "gamma")
    monkeypatch.delitem(sys.modules, "test_gamma", raising=False)
    return Bench((folder / "gamma" / "gamma.v",), "gamma_axi", (), "test_gamma", {}, folder / "bench")


@needs("hdl")
@pytest.mark.parametrize("value", [pytest.param("integer", marks=pytest.mark.slow), "float32"])
def test_with_memories_of_axi4_that_stall_its_product_is_right(value, tmp_path, monkeypatch):
    pytest.importorskip("cocotbext.axi")
    assert exported(tmp_path, "fibercache.size=4KiB", f"value={value}", whole=value == "integer") == 0
    assert (tmp_path / "gamma" / "gamma.f").read_text() == "gamma.v\n"
    assert run(bench(tmp_path, monkeypatch)) == 1


BLINKS = """
    wire [47:0] offered;
    reg blink;
    always @(posedge clk) blink <= rst ? 0 : ~blink;
    assign m0_axi_awid = offered ^ blink;
    gamma machine("""


@pytest.mark.slow
@needs("hdl")
def test_planted_an_identifier_that_changes_in_every_cycle_is_found(tmp_path, monkeypatch):
    pytest.importorskip("cocotbext.axi")
    assert exported(tmp_path, "fibercache.size=4KiB") == 0
    source = tmp_path / "gamma" / "gamma.v"
    head, machine, tail = source.read_text().partition("    gamma machine(")
    source.write_text(head + BLINKS + tail.replace("(m0_axi_awid)", "(offered)"))
    assert machine
    with pytest.raises(FailedBenchError, match="m0_axi_aw takes back what it offered"):
        run(bench(tmp_path, monkeypatch))


HELD = "request_held_term0} < 9'd256"  # lines of A that the scheduler holds or waits for


@pytest.mark.slow
def test_planted_in_the_machine_a_fault_is_told_by_port_cycle_and_both_tokens(tmp_path, capsys, printed):
    settings = [f"--set={setting}" for setting in (*SMALL, "pe.radix=8", "fibercache.size=4KiB")]
    loop = ["rtl", "loop", "machine", "gamma", written(tmp_path, 1, 14, 0.3), *settings]
    assert "identical in all" in printed(*loop, "-o", str(tmp_path))
    own, text = tmp_path / "mine.v", (tmp_path / "gamma.v").read_text()
    assert text.count(HELD) == 1
    own.write_text(text.replace(HELD, HELD.replace("256", "1")))
    assert cli.run([*loop, "-o", str(tmp_path / "mine"), f"--verilog={own}"]) == 3
    said = "".join(capsys.readouterr())
    assert re.search(r"; gamma\.top: in cycle \d+, memory_requests\[\d\] is .* of the component, .* of", said)
    assert f"Verilog of mine: {own}" in said
