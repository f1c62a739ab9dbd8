"""A library with flip-flops that have an inverted output, and with cells that have no function."""

import random
from pathlib import Path

from optional_programs import needs

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.tools.activity import RecordingBackend
from fiberscope.hw.rtl.tools.netlist import map_to_cells

HEAD = """library (small) { delay_model : table_lookup; time_unit : "1ns"; voltage_unit : "1V";
  nom_voltage : 1.0;
  capacitive_load_unit (1, ff); current_unit : "1mA";
  pulling_resistance_unit : "1kohm"; leakage_power_unit : "1nW";
"""
ARC = """timing () {{ related_pin : "{pin}"; timing_sense : {sense};
  cell_rise (scalar) {{ values ("0.1"); }} rise_transition (scalar) {{ values ("0.1"); }}
  cell_fall (scalar) {{ values ("0.1"); }} fall_transition (scalar) {{ values ("0.1"); }} }}"""
REGISTER = """cell (DFF) { area : 4.0; ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; }
  pin (D) { direction : input; capacitance : 1.0; }
  pin (C) { direction : input; clock : true; capacitance : 1.0; }
  pin (QN) { direction : output; function : "IQN"; } pin (Q) { direction : output; function : "IQ"; } }
"""
NO_FUNCTION = """cell (GATE) { area : 4.0;
  pin (C) { direction : input; capacitance : 1.0; } pin (G) { direction : output; state_function : "C"; } }
}
"""


def cell(name: str, function: str, pins: str, sense: str = "negative_unate") -> str:
    inputs = "".join(f"pin ({pin}) {{ direction : input; capacitance : 1.0; }}\n" for pin in pins)
    arcs = "".join(ARC.format(pin=pin, sense=sense) for pin in pins)
    output = f'direction : output; function : "{function}"; max_capacitance : 100.0; {arcs}'
    return f"cell ({name}) {{ area : 1.0; {inputs} pin (Y) {{ {output} }} }}\n"


@needs("cells", "yosys")
def test_cells_of_a_library_with_inverted_outputs_become_what_the_rtl_does(tmp_path: Path) -> None:
    logic = cell("INV", "!A", "A") + cell("BUF", "A", "A", "positive_unate")
    gates = cell("NAND", "!(A B)", "AB") + cell("NOR", "!(A + B)", "AB")
    library = tmp_path / "small.lib"
    library.write_text(HEAD + logic + gates + REGISTER + NO_FUNCTION, encoding="utf-8")
    block = BLOCKS["accumulator"]
    parameters = block.parameters(value_bits=4, sum_bits=6, coordinate_bits=2)
    netlist = map_to_cells(block.verilog(parameters), "accumulator", library)
    inverted = {register.nets["QN"] for register in netlist.registers}
    assert any(inverted & {*part.nets.values()} for part in netlist.logic)
    recording = RecordingBackend(PyrtlBackend(block.twin(parameters), watched=True), {"": netlist})
    draw = random.Random(0)
    for _ in range(200):  # registers are compared on the way
        for piece in recording.words.layout["input"]:
            recording.words.drive({piece.wire: draw.getrandbits(piece.width)})
        recording.cycle()
    activity = recording.activity()
    for register in netlist.registers:
        state, other = (activity.high[register.nets[pin]] for pin in ("Q", "QN"))
        assert state + other == 200
