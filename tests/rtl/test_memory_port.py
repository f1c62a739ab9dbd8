"""The port of blocks with memory requests: the bank's and the pins of a machine's memory are such."""

import pyrtl
import pytest

from fiberscope.hw.memory.cache_parameters_rtl import BankParameters
from fiberscope.hw.memory.cache_rtl import BLOCK
from fiberscope.hw.memory.protocol import OPERATIONS, PORT_SHIFT, READ
from fiberscope.hw.rtl.kit.interface import Token
from fiberscope.hw.rtl.kit.memory_pins import memory_interface
from fiberscope.hw.rtl.kit.memory_port import MemoryPort

PORT = MemoryPort(tag_bits=40, address_bits=24)


def test_its_fields_are_those_of_the_protocol():
    assert PORT.fields == {"control": 3, "coordinate": 40, "reference": 24}
    assert len(OPERATIONS) <= 1 << PORT.fields["control"]
    assert PORT.tags("memory_replies", "input").widths == {"coordinate": 40}
    assert PORT.stream("memory_requests.1", "output", "behind").lane == 1


def test_the_bank_and_a_machine_have_it():
    given = BankParameters(tag_bits=40, address_bits=24, data="none")
    streams = {stream.label: stream for stream in BLOCK.interface(given).streams}
    assert streams["requests"] == PORT.stream("requests", "input")
    assert streams["memory_requests"].fields == streams["replies"].fields
    of_memory = memory_interface("gamma", 2).streams
    assert all(stream.widths == MemoryPort().fields for stream in of_memory)


def test_a_line_goes_beside_what_a_token_has():
    port = MemoryPort(tag_bits=40, address_bits=24, line_bits=100)
    stream = port.stream("replies", "output")
    assert stream.widths == {**PORT.fields, "line": 100}
    assert stream.token_fields == list(PORT.fields)
    token = Token(READ, 7, 64, 0.0)
    wires = dict(stream.encode(token))
    assert wires["replies_line"] == 0
    assert stream.decode(wires) == token
    assert port.tags("memory_replies", "input").widths == {"coordinate": 40, "line": 100}


@pytest.mark.parametrize(("asker", "number"), [(0, 7), (200, 0), (255, 3)])
def test_a_tag_is_the_askers_port_above_its_number(asker, number):
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        given, tag = pyrtl.Input(4, "number"), pyrtl.Output(40, "tag")
        token = PORT.token(PORT.operation(READ), PORT.tag(asker, given), pyrtl.Const(0, 24))
        tag <<= token["coordinate"]
        simulation = pyrtl.FastSimulation(block=block)
        simulation.step({"number": number})
    assert simulation.inspect("tag") == asker << PORT_SHIFT | number
    assert token.keys() == PORT.fields.keys()
