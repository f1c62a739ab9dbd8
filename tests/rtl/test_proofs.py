"""Units that are proven to lose, make and reorder no token, and to let none wait forever."""

from dataclasses import replace

import claims
import pyrtl
import pytest
from faults import read
from optional_programs import needs

from fiberscope.hw.networks.concentrator_rtl import BLOCK as CONCENTRATOR
from fiberscope.hw.networks.concentrator_rtl import ConcentratorParameters
from fiberscope.hw.networks.crossbar_rtl import BLOCK as CROSSBAR
from fiberscope.hw.networks.crossbar_rtl import CrossbarParameters
from fiberscope.hw.rtl.kit.channel import BLOCK as CHANNEL
from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.hw.rtl.tools.proof import LONGEST, RefutedError, UnprovenError, prove
from fiberscope.hw.streams.joiner_rtl import INTERSECT, UNION, JoinerParameters
from fiberscope.hw.streams.repeater_rtl import REPEATER, RepeaterParameters

pytestmark = needs("yosys")


def channel(capacity, latency=1):
    bits = {"control_bits": 1, "coordinate_bits": 1, "reference_bits": 0, "value_bits": 0}
    return CHANNEL, ChannelParameters(capacity=capacity, latency=latency, **bits), claims.channel


def joiner(ways, bits=4):
    return JoinerParameters(ways=ways, coordinate_bits=bits, reference_bits=bits)


def crossbar(inputs, outputs):
    small = {"route": "port", "tag_bits": 34, "address_bits": 17}
    return CROSSBAR, CrossbarParameters(inputs=inputs, outputs=outputs, **small), claims.crossbar


def concentrator(requesters, repliers):
    given = {"first_port": 3, "tag_bits": 37, "address_bits": 17}
    parameters = ConcentratorParameters(requesters=requesters, repliers=repliers, **given)
    return CONCENTRATOR, parameters, claims.concentrator


REPEATS = REPEATER, RepeaterParameters(reference_bits=5), claims.repeater
# Each with the length of its induction.
PROVEN = {
    **{f"channel of {capacity}": (*channel(capacity), 1) for capacity in (1, 2, 3, 4, 5, 17)},
    "channel of 3, latency 2": (*channel(3, 2), 2),
    "channel of 4, latency 3": (*channel(4, 3), 3),
    "repeater": (*REPEATS, 1),
    **{f"intersection of {ways}": (INTERSECT, joiner(ways), claims.intersect, 1) for ways in (2, 3, 4)},
    **{f"union of {ways}": (UNION, joiner(ways), claims.union, 1) for ways in (2, 3, 4)},
    "intersection of 32 bits": (INTERSECT, joiner(2, 32), claims.intersect, 1),
    "union of 32 bits": (UNION, joiner(2, 32), claims.union, 1),
    "crossbar of 2 by 2": (*crossbar(2, 2), 1),
    "crossbar of 4 by 3": (*crossbar(4, 3), 1),
    "crossbar of 9 by 1": (*crossbar(9, 1), 1),
    "concentrator of 3": (*concentrator(3, 2), 1),
    "concentrator of 8": (*concentrator(8, 8), 1),
}


@pytest.mark.parametrize("name", PROVEN)
def test_it_loses_makes_and_reorders_nothing(name):
    block, parameters, claimed, length = PROVEN[name]
    assert prove(block, parameters, claimed) == length


FAULTS = {fault.what: fault for fault in read() if fault.area == "twins"}
# Where a proof finds some of them.
FOUND = {
    "channel shows the newest": "channel of 4, latency 3",
    "channel a token too many": "channel of 3, latency 2",
    "channel late": "channel of 3, latency 2",
    "repeater looks behind": "repeater",
    "repeater forgets what it owes": "repeater",
    "repeater takes while it owes": "repeater",
    "repeater N as reference": "repeater",
    "joiner stop below coordinates": "intersection of 2",
    "joiner references are not waited for": "union of 2",
    "union last has the coordinate": "union of 3",
    "intersect drops one at a time": "intersection of 3",
    "turn passes with any grant": "crossbar of 2 by 2",
    "turn first always": "crossbar of 4 by 3",
    "turn of 8": "crossbar of 9 by 1",
    "crossbar takes without space": "crossbar of 2 by 2",
    "concentrator ports from 0": "concentrator of 3",
    "concentrator reply lost": "concentrator of 3",
    "concentrator turn stays": "concentrator of 3",
}


def with_fault(block, fault):
    """The block with the design that a file with a fault has."""
    names = {"__name__": "fiberscope." + fault.file.removesuffix(".py").replace("/", ".")}
    exec(compile(fault.source(), fault.file, "exec"), names)
    return replace(block, design=names[block.design.__name__])


@pytest.mark.parametrize("fault", FOUND)
def test_planted_a_fault_is_refuted(fault):
    block, parameters, claimed, _length = PROVEN[FOUND[fault]]
    with pytest.raises(RefutedError, match=f"{block.name}: not .* in cycle"):
        prove(with_fault(block, FAULTS[fault]), parameters, claimed)


def test_planted_what_holds_by_chance_alone_is_not_proven():
    def counted(_parameters, _streams):
        seen = pyrtl.Register(5, "seen")
        seen.next <<= (seen + (seen != LONGEST))[:5]
        return {"never_thirty": seen != 30}

    with pytest.raises(UnprovenError, match=r"channel: by 6 cycles in a row not never_thirty in cycle 7"):
        prove(CHANNEL, channel(2)[1], counted)
