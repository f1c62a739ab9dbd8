"""Tokens as bits and back, and what is said of ports that do not match."""

import math
import random

import pytest

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.interface import MASK, Interface, Stream, Token, Wire, streams
from fiberscope.hw.rtl.tools.ports import check_ports
from fiberscope.sim import SimulationError

WIDTHS = {"control": 1, "coordinate": 8, "reference": 4, "value": 32}
STREAM = Stream("ways[3]", "ways_03", "input", WIDTHS)
TWO = Interface("pair", (Stream("a", "a", "input", {"coordinate": 8}), Stream("z", "z", "output", {})))


@pytest.mark.parametrize(
    "token",
    [Token(0, 0, 0, 0.0), Token(1, 255, -8, -0.5), Token(0, 7, 7, 2.0**100), Token(0, 0, -1, math.inf)],
)
def test_a_token_survives_its_wires(token):
    assert STREAM.decode(dict(STREAM.encode(token))) == token


def test_a_value_that_is_no_number_stays_none():
    assert math.isnan(STREAM.decode(dict(STREAM.encode(Token(0, 0, 0, math.nan)))).value)


def test_the_bits_of_a_token():
    assert dict(STREAM.encode(Token(1, 200, -2, 1.0))) == {
        "ways_03_control": 1,
        "ways_03_coordinate": 200,
        "ways_03_reference": 0b1110,
        "ways_03_value": 0x3F800000,
    }


@pytest.mark.parametrize(
    ("token", "message"),
    [
        (Token(2, 0, 0, 0.0), "ways_03_control: 2 does not fit its 1 bits"),
        (Token(0, -1, 0, 0.0), "ways_03_coordinate: -1 does not fit its 8 bits"),
        (Token(0, 0, 8, 0.0), "ways_03_reference: 8 does not fit its 4 bits"),
        (Token(0, 0, 0, 0.1), "ways_03_value: 0.1 does not fit its 32 bits"),
        (Token(0, 0, 0, 1e300), r"ways_03_value: 1e\+300 does not fit its 32 bits"),
    ],
)
def test_what_does_not_fit_is_refused(token, message):
    with pytest.raises(SimulationError, match=message):
        dict(STREAM.encode(token))


def test_an_array_is_numbered_so_that_names_sort():
    prefixes = [stream.prefix for stream in streams("ways", "input", {}, 11)]
    assert prefixes[::5] == ["ways_00", "ways_05", "ways_10"]
    assert streams("ways", "input", {}, 2)[1].port == ("ways", 1)


def test_a_label_that_is_no_port_is_refused():
    with pytest.raises(
        ValueError, match=r"a-b is no port: write name or name\[index\], with \.lane behind it"
    ):
        Stream("a-b", "a", "input", {})


def test_lanes_are_of_outputs():
    stream = Stream("ways[3].2", "third", "output", {})
    assert (stream.port, stream.lane) == (("ways", 3), 2)
    with pytest.raises(ValueError, match=r"a\.1: an input shows one token a cycle; only outputs have lanes"):
        Stream("a.1", "a", "input", {})


def test_the_wires_of_a_module():
    assert [str(wire) for wire in TWO.wires()] == [
        "input clk", "input rst",
        "input a_valid", "input [7:0] a_coordinate", "output a_ready",
        "output z_valid", "input z_ready",
    ]  # fmt: skip
    check_ports(TWO, list(reversed(TWO.wires())))


def test_a_module_may_have_outputs_that_nobody_reads():
    check_ports(TWO, [*TWO.wires(), Wire("busy", "output", 1)])
    with pytest.raises(SimulationError, match="unknown  input enable"):
        check_ports(TWO, [*TWO.wires(), Wire("enable", "input", 1)])


def test_every_port_that_does_not_match_is_named():
    found = [wire for wire in TWO.wires() if wire.name != "rst"]
    found[1:3] = [Wire("a_valid", "output", 1), Wire("a_coordinate", "input", 4), Wire("reset_n", "input", 1)]
    with pytest.raises(SimulationError) as caught:
        check_ports(TWO, found)
    assert str(caught.value).splitlines() == [
        "the ports of module pair do not match those of its component",
        "  missing  input rst",
        "  differs  input a_valid, found output a_valid",
        "  differs  input [7:0] a_coordinate, found input [3:0] a_coordinate",
        "  unknown  input reset_n",
        "expected: input clk, input rst, input a_valid, input [7:0] a_coordinate, output a_ready, "
        "output z_valid, input z_ready",
        "found:    input clk, output a_valid, input [3:0] a_coordinate, input reset_n, output a_ready, "
        "output z_valid, input z_ready",
    ]


MASKED = [
    pytest.param(stream, id=f"{name}-{stream.label}")
    for name, block in BLOCKS.items()
    for stream in block.interface(block.parameters()).streams
    if MASK in stream.widths
]


@pytest.mark.parametrize("stream", MASKED)
def test_a_bit_is_told_if_and_only_if_its_lane_is_in_the_mask(stream):
    draw = random.Random(7)
    widths = dict(stream.packed())
    wires = {wire: draw.getrandbits(width * len(stream.ports)) for wire, width in widths.items()}
    told, mask = stream.lanes_told(wires), wires.pop(stream.wire(MASK))
    assert [lane is not None for lane in told] == [bool(mask >> lane & 1) for lane in range(len(told))]
    assert 0 < told.count(None) < len(told)
    for wire, bits in wires.items():
        for bit in range(widths[wire] * len(told)):
            flipped = stream.lanes_told({**wires, stream.wire(MASK): mask, wire: bits ^ 1 << bit})
            assert (flipped != told) == (mask >> bit // widths[wire] & 1)
