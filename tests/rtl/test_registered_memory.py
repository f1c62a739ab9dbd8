"""Memories with a registered output become block RAM, and the same without become LUT RAM."""

import json
import random

import pyrtl
import pytest
from optional_programs import needs

from fiberscope import cli
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.sram import COMBINATIONAL, REGISTERED, AnnouncedSram
from fiberscope.hw.rtl.tools.area import run_yosys

READS = """\
read_verilog {source}
hierarchy -top {module}
proc
opt
memory -nomap
write_json cells.json
"""
ECP5 = """\
read_verilog {source}
synth_ecp5 -top {module} -run begin:map_ffram
tee -q -o cells.json stat -json
"""
BLOCK_RAM, LUT_RAM = "DP16KD", "TRELLIS_DPR16X4"
LARGE = {
    "array": {"entries": 1024},
    "compressed_scanner": {"fibers": 2047, "elements": 2048},
    "islip": {"inputs": 2, "outputs": 2, "depth": 64},
    "sorted_head": {"form": "sequential", "entries": 256},
}


def synthesize(script, block, memory):
    """Return what a script of Yosys says of a block whose memory is of this kind."""
    chosen = BLOCKS[block]
    parameters = chosen.parameters(**LARGE[block], memory=memory)
    (cells,) = run_yosys(chosen.verilog(parameters), block, script, ("cells.json",))
    return json.loads(cells)


def read_ports(block, memory):
    """Return for each read port of a block's memories whether it is clocked."""
    cells = synthesize(READS, block, memory)["modules"][block]["cells"].values()
    memories = [cell["parameters"] for cell in cells if cell["type"] == "$mem_v2"]
    assert memories
    return [bit == "1" for memory in memories for bit in memory["RD_CLK_ENABLE"]]


@needs("yosys")
@pytest.mark.parametrize("block", LARGE)
def test_yosys_infers_clocked_reads_of_registered_memories_alone(block):
    assert all(read_ports(block, REGISTERED))
    assert not any(read_ports(block, COMBINATIONAL))


@pytest.mark.slow
@needs("yosys")
@pytest.mark.parametrize("block", LARGE)
def test_an_ecp5_has_registered_memories_in_block_ram(block):
    for memory, kind in ((REGISTERED, BLOCK_RAM), (COMBINATIONAL, LUT_RAM)):
        cells = synthesize(ECP5, block, memory)["design"]["num_cells_by_type"]
        assert {BLOCK_RAM, LUT_RAM} & cells.keys() == {kind}


def test_a_memory_with_announced_addresses_gives_what_one_without_a_register_gives():
    """Random words at few addresses, and writes that are not enabled among them."""
    entries, generator = 4, random.Random(1)
    with pyrtl.set_working_block(pyrtl.Block()):
        pins = {name: pyrtl.Input(2, name) for name in ("announced", "place")}
        word, enable = pyrtl.Input(8, "word"), pyrtl.Input(1, "enable")
        ahead = AnnouncedSram("words", entries, 8)
        ahead.announce(pins["announced"])
        ahead.write(pins["place"], word, enable)
        read = pyrtl.Output(8, "read")
        read <<= ahead.word()
        simulation = pyrtl.Simulation()
        held, announced = [0] * entries, None
        for _cycle in range(200):
            step = {name: generator.randrange(entries) for name in ("announced", "place")}
            step |= {"word": generator.getrandbits(8), "enable": generator.getrandbits(1)}
            simulation.step(step)
            assert announced is None or simulation.inspect("read") == held[announced]
            if step["enable"]:
                held[step["place"]] = step["word"]
            announced = step["announced"]


def test_the_scanner_has_a_short_name(tmp_path, capsys):
    assert cli.run(["rtl", "export", "scanner", "--set", "memory=registered", "-o", str(tmp_path)]) == 0
    assert "segments_odd_data" in (tmp_path / "compressed_scanner.v").read_text()
    assert cli.run(["rtl", "export", "scanner", "--set", "memory=fast", "-o", str(tmp_path)]) == 2
    said = "compressed_scanner: memory must be one of combinational, registered, not fast"
    assert said in capsys.readouterr().err


def test_the_head_of_the_verilog_names_only_a_memory_that_is_registered():
    heads = [
        BLOCKS["array"].verilog(BLOCKS["array"].parameters(memory=memory)).splitlines()[1]
        for memory in (COMBINATIONAL, REGISTERED)
    ]
    assert heads[1] == f"{heads[0]} memory=registered"
