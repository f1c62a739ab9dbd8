"""Every counter, pointer and state of a twin passes its half: its highest bit is seen as 0 and as 1."""

import re

import pyrtl
import pytest
from pairs import check_pair
from scenarios import LARGE, SCENARIOS, SEEDS, SOME_LARGE_SEEDS

from fiberscope.hw.lanes.packer_rtl import PackerParameters
from fiberscope.hw.rtl.catalogue import BLOCKS
from fiberscope.hw.rtl.kit.backend import PyrtlBackend
from fiberscope.hw.rtl.kit.channel import ChannelParameters
from fiberscope.hw.rtl.kit.twin import DataRegister
from fiberscope.hw.streams.writers_rtl import CompressedWriterParameters, ValuesWriterParameters

# Sizes whose counters come to their half, where none of those that are drawn do.
SMALL = {
    "packer": PackerParameters(inputs=4, outputs=3),
    "values_writer": ValuesWriterParameters(entries=100, value_bits=8),
    "compressed_writer": CompressedWriterParameters(fibers=300, elements=100, coordinate_bits=9),
}
ENOUGH = 8
# By block, the registers whose half no run of seconds comes to, or none at all.
FAR = {
    "skip_ahead": {"fiber_number"},  # fibers since the reset, modulo 2 to the 15th
    "prefetch": {"next_line", "end_line"},  # numbers of lines, of 51 bits or more
    "touched": {
        "count",
        "given",
    },  # 2,048 elements of a round or more; a word's last bit, behind which it is new
    "compressed_writer": {"fibers"},  # 256 of them or more
}


def family(name):
    """The name of a register without the number of its lane or stage."""
    return re.sub(r"\d+", "#", name)


class Halves(PyrtlBackend):
    """A twin that notes which registers have shown each half: pairs of a family and the highest bit."""

    def __init__(self, twin, seed, seen):
        super().__init__(twin, seed)
        self.seen = seen
        self.highest = {register.name: len(register) - 1 for register in counters(twin)}

    def cycle(self):
        super().cycle()
        for name, bit in self.highest.items():
            self.seen.add((family(name), self._simulation.inspect(name) >> bit & 1))


def counters(twin):
    """The registers of several bits that a reset sets, as it does not those of data."""
    registers = twin.block.wirevector_subset(pyrtl.Register)
    return [one for one in registers if len(one) > 1 and not isinstance(one, DataRegister)]


def unpassed(block, twins):
    """Families of the counters of these twins that have not shown both halves.

    Twins are given by scenario, seed and parameters; one is run while a family that is not far is left, and
    behind ``ENOUGH`` of them none is made where none is left.
    """
    wanted, seen = set(), set()
    for number, (scenario, seed, given) in enumerate(twins):
        if number >= ENOUGH and {name for name, _half in wanted - seen} <= FAR.get(block, set()):
            break
        twin = BLOCKS[block].twin(given)
        wanted |= {(family(one.name), half) for one in counters(twin) for half in (0, 1)}
        if {name for name, _half in wanted - seen} <= FAR.get(block, set()):
            continue
        check_pair(scenario.pair(seed, given, lambda twin=twin, seed=seed: Halves(twin, seed, seen)))
    return {name for name, _half in wanted - seen}


@pytest.mark.parametrize("block", SCENARIOS)
def test_every_counter_passes_its_half(block):
    by_size = ((LARGE[block], SOME_LARGE_SEEDS), (SCENARIOS[block], SEEDS))
    drawn = [(scenario, seed, scenario.drawn(seed)) for scenario, seeds in by_size for seed in seeds]
    small = [(SCENARIOS[block], 1, SMALL[block])] if block in SMALL else []
    assert unpassed(block, small + drawn) == FAR.get(block, set())


def test_planted_counters_that_no_run_brings_to_their_half_are_named(monkeypatch):
    monkeypatch.setattr("channel_scenario.TOKENS", 3)
    channel = SCENARIOS["channel"]
    given = ChannelParameters(capacity=8, latency=2)
    assert unpassed("channel", [(channel, 0, given)]) == {"head", "tail", "held", "shown"}
