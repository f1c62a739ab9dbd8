"""Power: cells compute what the RTL does, OpenSTA's sums are those worked out by hand, the table is whole."""

import csv
import random
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from optional_programs import needs

from fiberscope import cli
from fiberscope.hw.fibers.merge_rtl import MergerParameters
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.hw.rtl.kit.naming import TERM
from fiberscope.hw.rtl.tools import sta
from fiberscope.hw.rtl.tools.activity import Activity, DifferentNetlistError, RecordingBackend
from fiberscope.hw.rtl.tools.area import SHIPPED
from fiberscope.hw.rtl.tools.netlist import Cell, Kind, Memory, Netlist, map_to_cells
from fiberscope.hw.rtl.tools.simulator import HdlError

PAGE = Path(__file__).parents[2] / "docs" / "rtl.md"
CELLS = SHIPPED["osu018"][0]
needs_cells = needs("cells", "yosys")
needs_sta = needs("sta")
NARROW = MergerParameters(radix=2, coordinate_bits=4, reference_bits=4, value_bits=32, stages=1)
PLAN = "uniform:rows=40,cols=40,nonzeros=200"
COMMAND = ["rtl", "power", "merger", "gamma", PLAN, "--set=pe.count=2", "--set=pe.radix=2", "--sim=pyrtl"]


def recording(netlist: Netlist, parameters: MergerParameters = NARROW) -> RecordingBackend:
    twin = BLOCKS["merger"].twin(parameters)
    return RecordingBackend(PyrtlBackend(twin, watched=True), {"": netlist})


def run(backend: RecordingBackend, cycles: int, seed: int = 0) -> Activity:
    """The module with random inputs."""
    draw = random.Random(seed)
    wires = {piece.wire: piece.width for piece in backend.words.layout["input"]}
    for _ in range(cycles):
        backend.words.drive({name: draw.getrandbits(width) for name, width in wires.items()})
        backend.cycle()
    return backend.activity()


@pytest.fixture(scope="module")
def merger() -> Netlist:
    return map_to_cells(BLOCKS["merger"].verilog(NARROW), "merger", CELLS)


@needs_cells
def test_cells_become_what_the_rtl_does_over_chunks(merger: Netlist) -> None:
    activity = run(recording(merger), 5000)  # more than a chunk, and not a whole number of them
    assert activity.cycles == 5000
    changes = activity.toggles[merger.inputs["ways_0_valid"]]
    assert 2300 < changes < 2700  # a coin's
    assert 2300 < activity.high[merger.inputs["ways_0_valid"]] < 2700


@needs_cells
def test_toggles_are_those_of_the_wires(merger: Netlist) -> None:
    backend = recording(merger)
    seen = []
    original = backend.sample
    names = list(backend.signals())
    draw = random.Random(3)
    for _ in range(300):
        backend.words.drive({"ways_0_valid": draw.getrandbits(1), "ways_1_valid": 1, "tasks_valid": 1})
        backend.words.drive({"tasks_coordinate": 2, "merged_ready": draw.getrandbits(1)})
        backend.cycle()
        seen.append(original()[names.index("running_00")])
    activity = backend.activity()
    (register,) = (cell for cell in merger.registers if merger.names[cell.name] == "running_00")
    net = register.nets["Q"]
    assert activity.high[net] == sum(seen) > 0
    assert activity.toggles[net] == sum(a != b for a, b in pairwise(seen)) > 0


def broken(netlist: Netlist) -> Netlist:
    """The netlist with a cell before a register that is always low."""
    due = {register.nets["D"] for register in netlist.registers}
    cell = next(cell for cell in netlist.logic if cell.nets["Y"] in due)
    wrong = replace(cell, kind=replace(cell.kind, gates=[("Y", lambda *_: 0, ())]))
    return replace(netlist, logic=[wrong if other is cell else other for other in netlist.logic])


@needs_cells
def test_a_planted_wrong_cell_is_found(merger: Netlist) -> None:
    with pytest.raises(DifferentNetlistError, match=r"^merger_logic: \w+ differs from that of the RTL$"):
        run(recording(broken(merger)), 100)


@needs_cells
@needs_sta
def test_a_run_with_a_wrong_cell_ends_with_exit_code_3(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fiberscope.rtl.power.map_to_cells", lambda *given: broken(map_to_cells(*given)))
    assert cli.run([*COMMAND, "--table=merger.csv"]) == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "merger_logic: " in err
    assert "differs from that of the RTL" in err
    assert not Path("merger.csv").exists()


@needs_cells
def test_a_register_that_is_no_wire_of_the_rtl_is_named(merger: Netlist) -> None:
    other = replace(merger, names=dict.fromkeys(merger.names, "none"))
    with pytest.raises(HdlError, match="merger_logic: none of the cells is no wire of the RTL"):
        recording(other)
    with pytest.raises(HdlError, match=r"merger_logic: \d flip-flops of the cells are no wire of the RTL"):
        recording(replace(merger, names={}))


@needs_cells
def test_memories_stay_outside() -> None:
    given = ChannelParameters(4, 1, control_bits=0, coordinate_bits=8, reference_bits=0, value_bits=0)
    netlist = map_to_cells(BLOCKS["channel"].verilog(given), "channel", CELLS)
    (memory,) = netlist.memories
    assert (memory.name, memory.entries, memory.bits) == ("slots", 4, 8)
    assert memory.write is not None
    assert isinstance(memory, Memory)


def chain(**toggles: float) -> tuple[Netlist, Activity]:
    """An input, an inverter, a register, and two inverters; the nets between toggle so often a cycle."""
    nets = {name: i for i, name in enumerate("adqny", 2)}
    inverter, register = Kind("INVX1", (), ("Y",)), Kind("DFFPOSX1", (), ("Q",), "D", "CLK")
    registers = [Cell("ff", register, {"CLK": 1, "D": nets["d"], "Q": nets["q"]})]
    cells = [
        Cell(name, inverter, {"A": nets[a], "Y": nets[y]})
        for name, a, y in (("i0", "a", "d"), ("i1", "q", "n"), ("i2", "n", "y"))
    ]
    text = """module chain(clk, a, y);
  input clk;
  wire clk;
  input a;
  wire a;
  output y;
  wire y;
  wire d;
  wire q;
  wire n;
  INVX1 i0 (.A(a), .Y(d));
  DFFPOSX1 ff (.CLK(clk), .D(d), .Q(q));
  INVX1 i1 (.A(q), .Y(n));
  INVX4 i2 (.A(n), .Y(y));
endmodule
"""
    netlist = Netlist("chain", text, {"a": nets["a"]}, registers, {"ff": "q"}, cells, [])
    counts = {net: int(1000 * toggles.get(name, 0.0)) for name, net in nets.items()}
    return netlist, Activity(1000, counts, dict.fromkeys(counts, 500))


@needs_cells
@needs_sta
@pytest.mark.parametrize("toggles", [0.0, 0.25, 1.0])
def test_the_energy_of_a_net_is_half_its_capacitance_times_the_square_of_the_voltage(toggles: float) -> None:
    capacitance, volts = 0.0373134, 1.8  # pF of the pin of INVX4, V; as the library says
    power = sta.power_of(*chain(n=toggles), CELLS)  # what is inside a cell is counted with its inputs
    assert power.run_pj - power.idle_pj == pytest.approx(capacitance * volts**2 / 2 * toggles, rel=1e-4)


@needs_cells
@needs_sta
def test_an_input_and_what_follows_from_it_toggle_as_they_are_said_to() -> None:
    """Zero, though the other toggles, and what is said of the net behind an input and not what follows."""
    still = sta.power_of(*chain(), CELLS)
    assert sta.power_of(*chain(a=1.0), CELLS).run_pj == pytest.approx(still.run_pj, abs=1e-6)
    capacitance, volts = 0.00882947, 1.8  # of pin D
    inner = 0.5 * (0.045424 + 0.08841)  # pJ in the register, of a rising and a falling D, at quick edges
    found = sta.power_of(*chain(d=1.0), CELLS).run_pj - still.run_pj
    assert found == pytest.approx(capacitance * volts**2 / 2 + inner, rel=0.05)


@needs_cells
@needs_sta
def test_the_clock_takes_its_part_of_every_register_but_those_for_inputs() -> None:
    power = sta.power_of(*chain(), CELLS)
    assert power.idle_pj == pytest.approx(0.2214, rel=1e-3)  # pJ of one DFFPOSX1 a cycle, by OpenSTA alone
    assert power.path_ns == pytest.approx(0.5, abs=0.3)


@needs_cells
@needs_sta
def test_energy_is_of_the_clock_and_of_what_toggles(merger: Netlist) -> None:
    activity = run(recording(merger), 500)
    power = sta.power_of(merger, activity, CELLS)
    half = replace(activity, toggles={net: count / 2 for net, count in activity.toggles.items()})
    less = sta.power_of(merger, half, CELLS)
    assert less.idle_pj == power.idle_pj > 0
    assert less.run_pj - less.idle_pj == pytest.approx((power.run_pj - power.idle_pj) / 2, rel=1e-3)
    assert power.path_ns > 0.5


@needs_cells
@needs_sta
def test_what_opensta_does_not_accept_is_said_in_one_line(tmp_path: Path) -> None:
    netlist, activity = chain()
    with pytest.raises(HdlError, match=r"^OpenSTA does not accept module chain with the cells of .*: .*$"):
        sta.power_of(replace(netlist, verilog="module chain(clk; endmodule"), activity, CELLS)


@needs_cells
@needs_sta
def test_the_command_shows_and_writes_a_row_for_each_event(here: Path, printed) -> None:
    out = printed(*COMMAND, "--table=merger.csv")
    rows = list(csv.DictReader(Path("merger.csv").read_text().splitlines()))
    assert [row["event"] for row in rows] == ["cycle", "merged_elements"]
    assert {row["component"] for row in rows} == {"HighRadixMerger"}
    assert all(row["source"] and row["cells"] == "osu018_stdcells" for row in rows)
    assert {row["block"] for row in rows} == {"merger"}
    assert all(row["parameters"].startswith("radix=2 ") for row in rows)
    clock = re.search(r"the cells allow: (\d+) MHz", out)
    assert clock is not None
    assert {row["megahertz"] for row in rows} == {clock[1]}
    mean = re.search(r"^([\d.,]+) pJ a cycle, of which the clock's are ([\d.,]+)$", out, re.MULTILINE)
    assert mean is not None
    whole = sum(int(row["count"]) * float(row["picojoules"]) for row in rows)
    assert whole == pytest.approx(float(mean[1]) * int(rows[0]["count"]), rel=5e-3)


@needs_cells
@needs_sta
def test_a_block_alone_is_measured_on_its_own_stimulus(here: Path, printed) -> None:
    narrow = [f"--set={name}" for name in ("coordinate_bits=4", "value_bits=4", "sum_bits=8")]
    assert printed("rtl", "power", "accumulator", *narrow, "--table=alone.csv").startswith("accumulator: ")
    cycle, add = csv.DictReader(Path("alone.csv").read_text().splitlines())
    assert (cycle["event"], add["event"]) == ("cycle", "add")
    assert (add["component"], add["parameters"]) == (
        "Accumulator",
        "coordinate_bits=4 value_bits=4 sum_bits=8 reference_bits=0 values=integer",
    )
    assert int(cycle["count"]) > int(add["count"]) > 300
    assert float(cycle["picojoules"]) > 0 < float(add["picojoules"])
    assert "its own stimulus" in add["source"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["channel"], "channel has no stimulus of its own; name an accelerator and a matrix"),
        (["merger", "gamma"], "gamma: name the matrix that it runs on, or leave out the accelerator too"),
        (["divider", "--set=lanes=0"], "divider: lanes must be from 1 to 64, not 0"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(arguments: list[str], line: str, refusal) -> None:
    assert refusal("rtl", "power", *arguments) == f"fiberscope: {line}\n"


@needs_cells
def test_a_register_has_the_name_that_it_was_given_though_one_of_its_bits_has_another() -> None:
    given = BLOCKS["adder_network"].parameters(leaves=4, operand_bits=4, id_bits=2)
    netlist = map_to_cells(BLOCKS["adder_network"].verilog(given), "adder_network", CELLS)
    assert not any(TERM in name for name in netlist.names.values())


@pytest.mark.slow
@needs_cells
@needs_sta
def test_the_page_shows_what_the_command_says(here: Path, monkeypatch: pytest.MonkeyPatch, printed) -> None:
    shown = re.search(r"^    \$ fiberscope (rtl power .*)\n((?:    .*\n|\n)+)", PAGE.read_text("utf-8"), re.M)
    assert shown is not None
    monkeypatch.setenv("COLUMNS", "80")
    said = [line.rstrip() for line in printed(*shown[1].split()).splitlines()]
    assert said == [line[4:].rstrip() for line in shown[2].rstrip().splitlines()]


def test_without_opensta_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sta.shutil, "which", lambda _name: None)
    with pytest.raises(HdlError, match=r"OpenSTA is not installed, .* apt install opensta"):
        sta.require()


@needs_sta
def test_another_series_of_opensta_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sta, "version", lambda: "2.6.0")
    with pytest.raises(HdlError, match=r"OpenSTA 2\.6\.0 takes activities in another way"):
        sta.require()
