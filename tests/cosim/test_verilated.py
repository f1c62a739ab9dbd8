"""Modules compiled by Verilator into this process."""

import fcntl
import os
from dataclasses import replace

import pytest
from optional_programs import needs
from pairs import check_pair
from scenarios import SCENARIOS

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.interface import Bundle, Interface
from fiberscope.hw.rtl.kit.words import Words
from fiberscope.hw.rtl.tools import verilator_objects
from fiberscope.hw.rtl.tools.verilated import VerilatedBackend, VerilatedModule
from fiberscope.rtl.line_coverage import BRANCH, DATA, LineCoverage, keep_counts
from fiberscope.sim import SimulationError
from fiberscope.workloads.cache import cache_folder

WIDE = """
module wide (input clk, input rst, input in_valid, input [99:0] in_coordinate, output in_ready,
    output out_valid, output [4:0] out_control, output [99:0] out_coordinate, input out_ready);
    reg [99:0] held;
    always @(posedge clk) if (rst) held <= 100'd7; else if (in_valid) held <= in_coordinate;
    always @(posedge clk) if (in_valid && in_coordinate == 100'd13) $stop;
    assign in_ready = out_ready; assign out_valid = 1'b1;
    assign out_coordinate = held; assign out_control = 5'd21;
endmodule
"""
INTERFACE = Interface(
    "wide",
    (
        Bundle("in", "in", "input", {"coordinate": 20}, 5),
        Bundle("out", "out", "output", {"control": 1, "coordinate": 20}, 5),
    ),
)

pytestmark = needs("verilator")


@pytest.fixture(scope="module")
def wide(tmp_path_factory, worker_id):
    """The module, in a folder that all processes of a run share: the first compiles it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "wide"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "wide.v").write_text(WIDE)
        return VerilatedModule([folder / "wide.v"], INTERFACE, folder)


def cycled(backend, **inputs):
    """The outputs in a cycle in which these inputs are not as before."""
    backend.words.drive(inputs)
    backend.cycle()
    return backend.words.seen()


def test_ports_of_any_width_arrive_and_inputs_stay_until_they_change(wide):
    backend = VerilatedBackend(wide)
    number = (1 << 99) | (5 << 64) | 3
    assert cycled(backend, out_ready=1)["out_coordinate"] == 7
    assert cycled(backend, in_valid=1, in_coordinate=number)["in_ready"] == 1
    seen = cycled(backend, in_valid=0)
    assert seen == {"in_ready": 1, "out_valid": 1, "out_coordinate": number, "out_control": 21}


def test_each_field_of_a_bundle_has_a_word(wide):
    words = Words(INTERFACE)
    assert [piece.low for piece in words.layout["output"]] == [0, 0, *range(5), *range(0, 100, 20)]
    backend = VerilatedBackend(wide)
    cycled(backend, in_valid=1, in_coordinate=0xABCDE << 60 | 0x12345)
    cycled(backend, in_valid=0)
    assert list(backend.words.outputs) == [0, 1, 1, 0, 1, 0, 1, 0x12345, 0, 0, 0xABCDE, 0]


def test_instances_of_one_library_do_not_meet(wide):
    one, other = VerilatedBackend(wide), VerilatedBackend(wide)
    cycled(one, in_valid=1, in_coordinate=9)
    assert cycled(one)["out_coordinate"] == 9
    assert cycled(other)["out_coordinate"] == 7


def test_a_module_that_stops_is_an_error_and_not_the_end_of_the_process(wide):
    backend = VerilatedBackend(wide)
    cycled(backend, in_valid=1, in_coordinate=13)
    with pytest.raises(SimulationError, match=r"\$stop"):
        backend.cycle()  # the edge that ends the cycle before


@pytest.mark.slow
def test_what_a_larger_module_has_left_in_the_folder_is_not_compiled(tmp_path):
    (tmp_path / "wide.v").write_text(WIDE)
    left = tmp_path / "verilated_wide" / "Vtop___024root__1.cpp"
    left.parent.mkdir()
    left.write_text("of a module in several files")
    module = VerilatedModule([tmp_path / "wide.v"], INTERFACE, tmp_path)
    assert cycled(VerilatedBackend(module), out_ready=1)["in_ready"] == 1


def test_all_builds_share_the_object_of_what_is_verilators_own(wide, tmp_path):
    folder = cache_folder() / "verilated"
    compiled = {own: own.stat().st_mtime_ns for own in folder.glob("verilated_*.o")}
    (tmp_path / "other.v").write_text(WIDE.replace("module wide", "module other"))
    other = VerilatedModule([tmp_path / "other.v"], replace(INTERFACE, module="other"), tmp_path)
    assert cycled(VerilatedBackend(other), out_ready=1)["in_ready"] == 1
    assert compiled
    assert {own: own.stat().st_mtime_ns for own in folder.glob("verilated_*.o")} == compiled


def test_it_is_in_the_folder_of_the_build_where_the_cache_cannot_be_used(tmp_path, monkeypatch):
    file, locked = tmp_path / "file", tmp_path / "locked"
    file.touch()
    (locked / "verilated").mkdir(parents=True)
    usable = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: locked.name not in str(path) and usable(path, mode))
    monkeypatch.setattr(verilator_objects, "compile_object", lambda _flags, _level, _source, to: to.touch())
    for cache in (file, locked):
        monkeypatch.setenv("FIBERSCOPE_CACHE", str(cache))
        build = tmp_path / f"build_{cache.name}"
        build.mkdir()
        own = verilator_objects.compile_runtime(build, verilator_objects.FLAGS, covered=False)
        assert list(build.iterdir()) == [own]


@pytest.mark.slow
def test_lines_branches_and_toggles_of_all_instances_are_counted(tmp_path):
    (tmp_path / "wide.v").write_text(WIDE)
    module = VerilatedModule([tmp_path / "wide.v"], INTERFACE, tmp_path, covered=True)
    one, other = VerilatedBackend(module), VerilatedBackend(module)
    cycled(one, in_valid=1, in_coordinate=1 << 70)
    for backend in (one, other):
        cycled(backend, in_valid=0)
    keep_counts([module], tmp_path)
    coverage = LineCoverage((tmp_path / DATA).read_text())
    assert coverage.summary("wide").startswith("line coverage of wide: 2 of 2 lines, 1 of 2 branches, ")
    branches = {
        point.name: n for point, n in coverage.counts.items() if (point.kind, point.line) == (BRANCH, 5)
    }
    assert branches == {"if": 1, "else": 0}
    toggles = {point.name: n for point, n in coverage.counts.items()}
    assert (toggles["in_coordinate[70]:0->1"], toggles["in_coordinate[71]:0->1"]) == (1, 0)


def test_the_ports_are_checked_first(tmp_path):
    (tmp_path / "wide.v").write_text(WIDE.replace("in_ready", "in_rdy"))
    with pytest.raises(SimulationError, match="missing  output in_ready"):
        VerilatedModule([tmp_path / "wide.v"], INTERFACE, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", SCENARIOS)
def test_the_verilog_is_the_component(block, tmp_path):
    scenario = SCENARIOS[block]
    parameters = scenario.drawn(3)
    (tmp_path / "block.v").write_text(BLOCKS[block].verilog(parameters))
    module = VerilatedModule([tmp_path / "block.v"], BLOCKS[block].interface(parameters), tmp_path)
    for seed in range(6):
        assert check_pair(scenario.pair(seed, parameters, lambda: VerilatedBackend(module))) > 0


@pytest.mark.slow
@pytest.mark.parametrize("radix", [4, 64])  # the machine has 64
def test_a_merger_takes_its_place_in_gamma(radix, here, printed):
    matrix = "uniform:rows=60,cols=60,nonzeros=600"
    arguments = ["merger", "gamma", matrix, f"--set=pe.radix={radix}", "--set=pe.count=4"]
    assert "identical in all" in printed("rtl", "loop", *arguments, "--sim", "verilator", "-o", "loop")
