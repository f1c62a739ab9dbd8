"""Memory: DRAM channels of several standards, cycle by cycle, and a simple memory of fixed latency."""

from hw.hbm.address import ADDRESS_MAPS, AddressMap
from hw.hbm.channel import DramChannel
from hw.hbm.replay import ReplayResult, replay
from hw.hbm.simple import SimpleMemory, SimpleSpecification
from hw.hbm.specification import DramSpecification
from hw.hbm.standards import DramStandard, standard, standards

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
