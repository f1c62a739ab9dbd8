"""The bits of AXI4-Stream ports against a list of bits, for the streams of every block."""

import random
from itertools import chain

import pytest

from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.axis import axis_bits
from fiberscope.hw.rtl.kit.interface import MASK, Stream


def number_of(bits: list[int]) -> int:
    return sum(bit << place for place, bit in enumerate(bits))


def bits_of_lanes(stream: Stream, fields: dict[str, list[list[int]]]) -> tuple[list[int], list[int]]:
    """Return the bits of ``tdata`` and of ``tkeep``: the fields of each lane in whole bytes, lane by lane."""
    data: list[int] = []
    keep: list[int] = []
    for lane in range(len(stream.ports)):
        bits = list(chain(*(fields[name][lane] for name in stream.widths if name != MASK)))
        bits += [0] * (-len(bits) % 8)
        data += bits
        keep += (fields[MASK][lane] if MASK in fields else [0]) * (len(bits) // 8)
    return data, keep


@pytest.mark.parametrize("block", BLOCKS)
def test_the_lanes_of_a_stream_follow_each_other_in_whole_bytes(block):
    draws = random.Random(block)
    interface = BLOCKS[block].interface(BLOCKS[block].parameters())
    drawn = {
        stream.prefix: {
            name: [[draws.getrandbits(1) for _ in range(width)] for _ in stream.ports]
            for name, width in stream.widths.items()
        }
        for stream in interface.streams
    }
    wires = {
        stream.wire(name): number_of(list(chain(*lanes)))
        for stream in interface.streams
        for name, lanes in drawn[stream.prefix].items()
    }
    ports = axis_bits(interface, wires)
    for stream in interface.streams:
        fields = drawn[stream.prefix]
        data, keep = bits_of_lanes(stream, fields)
        assert ports[f"{stream.prefix}_tdata"] == number_of(data)
        assert ports[f"{stream.prefix}_tkeep"] == number_of(keep)
        assert ports[f"{stream.prefix}_tlast"] == (fields["control"][-1][0] if "control" in fields else 0)
