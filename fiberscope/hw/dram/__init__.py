"""Memory: DRAM channels of several standards, cycle by cycle, and a simple memory of fixed latency."""

from fiberscope.hw.dram.address import ADDRESS_MAPS, AddressMap
from fiberscope.hw.dram.channel import DramChannel
from fiberscope.hw.dram.replay import ReplayResult, replay
from fiberscope.hw.dram.simple import SimpleMemory, SimpleSpecification
from fiberscope.hw.dram.specification import DramSpecification
from fiberscope.hw.dram.standards import DramStandard, standard, standards

__all__ = [
    "ADDRESS_MAPS",
    "AddressMap",
    "DramChannel",
    "DramSpecification",
    "DramStandard",
    "ReplayResult",
    "SimpleMemory",
    "SimpleSpecification",
    "replay",
    "standard",
    "standards",
]
