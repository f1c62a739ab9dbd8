"""The bank's twin: its memories, and what is refused."""

from contextlib import suppress
from dataclasses import fields
from itertools import product

import pyrtl
import pytest
from memory_stub import MemoryStub
from scenarios import SCENARIOS

from fiberscope.hw.memory.cache_geometry import INDEXES, FiberCacheSpecification
from fiberscope.hw.memory.cache_parameters_rtl import BankParameters
from fiberscope.hw.memory.cache_rtl import BLOCK
from fiberscope.hw.rtl.kit.sram import Macro, Sram, list_macros
from fiberscope.sim import Kernel, SimulationError
from fiberscope.sim.testing import StreamSink, StreamSource

SCENARIO = SCENARIOS["bank"]


def memory_of(lanes):
    """A memory with its ports as those of a module, and its macro."""
    block = pyrtl.Block()
    with pyrtl.set_working_block(block):
        sram = Sram("slots", 4, 8, lanes=lanes)
        at, to, enable = pyrtl.Input(2, "at"), pyrtl.Input(2, "to"), pyrtl.Input(1, "enable")
        read = sram.read(at, enable)
        written = [pyrtl.Input(8, f"data_{i}") for i in range(lanes)]
        sram.write(to, written, [pyrtl.Input(1, f"write_{i}") for i in range(lanes)])
        for i, lane in enumerate(read):
            output = pyrtl.Output(8, f"read_{i}")
            output <<= lane
    return block


def stepped(simulation, read, write=None, **data):
    """What the lanes show in a cycle in which an address is given, if any, and lanes of an entry written."""
    lanes = [int(name[-1]) for name in data]
    inputs = {f"data_{i}": data.get(f"lane_{i}", 0) for i in range(2)}
    inputs |= {f"write_{i}": int(i in lanes) for i in range(2)}
    simulation.step(inputs | {"at": read or 0, "enable": int(read is not None), "to": write or 0})
    return simulation.inspect("read_0"), simulation.inspect("read_1")


def test_a_synchronous_memory_shows_an_entry_in_the_cycle_behind_its_address():
    with pyrtl.set_working_block(memory_of(2), no_sanity_check=True):
        simulation = pyrtl.FastSimulation(tracer=None)
    stepped(simulation, None, 2, lane_0=7, lane_1=9)
    stepped(simulation, 2, 2, lane_1=5)  # in the same cycle: the old contents are read
    assert stepped(simulation, None, 2, lane_0=8) == (7, 9)
    assert stepped(simulation, 2) == (7, 9)  # held until another address is given
    assert stepped(simulation, None) == (8, 5)


def test_the_memories_of_a_twin_are_listed():
    listed = list_macros(BLOCK.twin(BankParameters()))
    assert {macro.name: (macro.entries, macro.bits, macro.lanes) for macro in listed} == {
        "tag_lines": (64, 1 + 42, 16),
        "tag_states": (64, 16 * (1 + 5 + 2), 1),
        "miss_lines": (16, 42, 1),
        "targets": (64, 2 + 48, 1),
        "following": (64, 6, 1),
        "lines": (64 * 16, 8 * 64, 1),
    }
    assert Macro("any", 64, 43, lanes=16).total_bits == 64 * 43 * 16


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"line_bytes": 48}, "bank: line_bytes must be a power of two, not 48"),
        ({"sets": 12, "banks": 4, "index": "hashed"}, "bank: hashed sets must be a power of two, not 12"),
        ({"sets": 12}, "bank: sets or banks must be a power of two, not 12 and 48"),
        ({"port": 4, "tag_bits": 34}, "bank: port must be from 0 to 3, not 4"),
    ],
)
def test_what_cannot_be_built_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        BankParameters(**changes)


def test_what_the_component_refuses_its_twin_refuses():
    shared = {known.name for known in fields(FiberCacheSpecification)}
    tried = 0
    for sets, banks, index in product((1, 3, 4, 6, 12, 16), (1, 4, 6), INDEXES):
        changes = {"sets": sets, "banks": banks, "index": index}
        with suppress(ValueError):
            twin = BankParameters(**changes)
            FiberCacheSpecification(**{name: getattr(twin, name) for name in shared})
            tried += 1
            continue
        with pytest.raises(ValueError, match="power of two"):
            BankParameters(**changes)
    assert tried > 10


def test_the_parameters_that_suit_a_component():
    specification = FiberCacheSpecification(banks=48, sets=64, ways=16, priority_limit=31)
    assert BLOCK.matching(specification, 7) == BankParameters(port=7, data="none")


def test_a_channel_to_memory_without_room_for_a_read_and_a_write_back_is_refused():
    kernel = Kernel()
    kernel.clock("core", 10**9)
    bank = kernel.add(SCENARIO.pair(1).rtl("bank"))
    source, sink = kernel.add(StreamSource("source", [])), kernel.add(StreamSink("sink"))
    memory = kernel.add(MemoryStub("memory", (1,)))
    for ends in (
        (source, "out", bank, "requests"),
        (bank, "replies", sink, "in"),
        (bank, "memory_requests", memory, "requests"),
        (memory, "replies", bank, "memory_replies"),
    ):
        kernel.connect(*ends, capacity=1)
    message = r"memory\.requests: a capacity of 1 is too small for bank, which sends 2 tokens in one cycle"
    with pytest.raises(SimulationError, match=message):
        kernel.run()
