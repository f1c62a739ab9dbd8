"""Memory: DRAM channels of several standards, cycle by cycle, and a simple memory of fixed latency."""

from hw.dram.address import ADDRESS_MAPS, AddressMap
from hw.dram.channel import DramChannel
from hw.dram.replay import ReplayResult, replay
from hw.dram.simple import SimpleMemory, SimpleSpecification
from hw.dram.specification import DramSpecification
from hw.dram.standards import DramStandard, standard, standards

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
