"""Verilog of somebody else's in a composition, in an HDL simulator: it is what its model says."""

import pytest
from dot_pair import GIVEN
from foreign_multiplier import DOT

from fiberscope.hw.rtl.kit.core_file import write_files
from fiberscope.hw.rtl.tools.hdl import Bench, FailedBenchError, run
from fiberscope.sim import SimulationError


def bench(folder, spoil=lambda text: text):
    """The composition with the multiplier's file, which ``spoil`` breaks; the ports of both are checked."""
    *sources, _core = write_files(DOT, GIVEN, folder, "1.0.0")
    sources[0].write_text(spoil(sources[0].read_text()))
    interfaces = [block.interface(GIVEN) for block in (*DOT.foreign(GIVEN), DOT)]
    return Bench(tuple(sources), "dot", tuple(interfaces), "foreign_bench", {}, folder / "bench")


def test_the_verilog_is_the_model(simulator, tmp_path):
    assert run(bench(tmp_path), simulator) == 1


@pytest.mark.parametrize("simulator", ["auto"], indirect=True)
def test_planted_verilog_that_multiplies_unsigned_is_found(simulator, tmp_path):
    with pytest.raises(FailedBenchError, match="1 of 1 tests"):
        run(bench(tmp_path, lambda text: text.replace("$signed(b)", "b")), simulator)


@pytest.mark.parametrize("simulator", ["auto"], indirect=True)
def test_ports_that_are_not_those_of_the_model_are_named(simulator, tmp_path):
    renamed = bench(tmp_path, lambda text: text.replace("output a_ready", "output a_rdy"))
    said = r"the ports of module multiplier do .*\n  missing  output a_ready"
    with pytest.raises(SimulationError, match=said):
        run(renamed, simulator)
