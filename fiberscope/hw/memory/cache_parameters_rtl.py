"""Parameters of a cache bank as RTL."""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.hw.memory.cache_geometry import HASHED, INDEXES, INTERLEAVED, LIMITS, FiberCacheSpecification
from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, choice, number

ARRAY, NO_ARRAY = "array", "none"


@dataclass(frozen=True)
class BankParameters(FiberCacheSpecification, Parameters):
    """The component's specification, up to the sizes that a module is tried at, and widths of ports.

    Defaults are Gamma's.

    Args:
        index: as in the component.
        port: the bank's number on the network to memory.
        tag_bits: width of a tag, 33 to 63; ``port`` has those from 32 up.
        address_bits: width of a byte address, 24 to 64; the highest is 0, for addresses are not negative.
        data: what is in the lines: in an ``array`` of the module, or, with ``none``, left to whoever has the
            addresses, as the component leaves it.

    Raises:
        ValueError: for a number out of its range, lines of no power of two, sets of none
            where the banks are of none either, or an array with one stage.
    """

    banks: int = number(48, *LIMITS["banks"])
    sets: int = number(64, 1, 2048)
    ways: int = number(16, 1, 32)
    line_bytes: int = number(64, *LIMITS["line_bytes"])
    misses: int = number(16, 1, 64)
    targets: int = number(64, 1, 128)
    priority_limit: int = number(31, *LIMITS["priority_limit"])
    reuse_limit: int = number(3, *LIMITS["reuse_limit"])
    stages: int = number(3, 1, 3)
    index: str = choice(INTERLEAVED, INDEXES)
    port: int = number(0, 0, (1 << 63 - PORT_SHIFT) - 1)
    tag_bits: int = number(48, PORT_SHIFT + 1, 63)
    address_bits: int = number(48, 24, 64)
    data: str = choice(ARRAY, (ARRAY, NO_ARRAY))

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        Parameters.__post_init__(self)
        check_range("bank", "port", self.port, 0, (1 << self.tag_bits - PORT_SHIFT) - 1)
        if self.line_bytes & (self.line_bytes - 1):
            raise ValueError(f"bank: line_bytes must be a power of two, not {self.line_bytes}")
        if self.sets & (self.sets - 1) and self.banks & (self.banks - 1):
            raise ValueError(f"bank: sets or banks must be a power of two, not {self.sets} and {self.banks}")
        if self.data == ARRAY and self.stages == 1:
            raise ValueError(
                "bank: data=array needs 2 or 3 stages: a way is known only at the end of the first"
            )

    @property
    def hashed(self) -> bool:
        """Return whether sets are."""
        return self.index == HASHED

    @property
    def memory_port(self) -> MemoryPort:
        """Return the port of its requests and replies, those to memory too."""
        return MemoryPort(self.tag_bits, self.address_bits, self.line_bits)

    @property
    def line_bits(self) -> int:
        """Bits of a line at the ports and in the array, 0 where there is none."""
        return 8 * self.line_bytes if self.data == ARRAY else 0

    @property
    def offset_bits(self) -> int:
        """Bits of an address within a line."""
        return self.line_bytes.bit_length() - 1
