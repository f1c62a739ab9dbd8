"""Parameters of a cache bank as RTL."""

from __future__ import annotations

from dataclasses import dataclass

from fiberscope.hw.memory.cache_geometry import HASHED, INDEXES, INTERLEAVED, LIMITS, FiberCacheSpecification
from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.hw.rtl.kit.parameters import Parameters, check_range, choice, number

ARRAY, NO_ARRAY = "array", "none"  # values of ``data``


@dataclass(frozen=True)
class BankParameters(FiberCacheSpecification, Parameters):
    """The component's specification, within the sizes for which the module is tested, and widths of ports.

    The defaults are those of Gamma. Other arguments: see ``FiberCacheSpecification``.

    Args:
        index: mapping of lines to sets, as in the component.
        port: number of the bank's port at the network to memory.
        tag_bits: bits of a tag, 33 to 63; the bits from 32 up are the port.
        address_bits: bits of a byte address, 24 to 64; the highest is 0, as addresses are not negative.
        data: ``array`` if the module has the data of the lines; ``none`` if it has only their tags, as the
            component.

    Raises:
        ValueError: a number is out of its range, ``port`` does not fit the tag, ``line_bytes`` is not a power
            of two, neither ``sets`` nor ``banks`` is one, hashed sets are not one, or there is a data array
            and only one stage.
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
    # A tag has at most 63 bits, of which the bits from ``PORT_SHIFT`` up are the port.
    port: int = number(0, 0, (1 << 63 - PORT_SHIFT) - 1)
    tag_bits: int = number(48, PORT_SHIFT + 1, 63)
    address_bits: int = number(48, 24, 64)
    data: str = choice(ARRAY, (ARRAY, NO_ARRAY))

    def __post_init__(self) -> None:
        """Check the parameters, also together."""
        # Not the component's check: it has the component's wider limits.
        Parameters.__post_init__(self)
        check_range("bank", "port", self.port, 0, (1 << self.tag_bits - PORT_SHIFT) - 1)
        if self.line_bytes & (self.line_bytes - 1):
            raise ValueError(f"bank: line_bytes must be a power of two, not {self.line_bytes}")
        # ``tags.Sets`` divides a line by a power of two, which is a shift, if either number is one.
        if self.sets & (self.sets - 1) and self.banks & (self.banks - 1):
            raise ValueError(f"bank: sets or banks must be a power of two, not {self.sets} and {self.banks}")
        if self.hashed and self.sets & (self.sets - 1):
            raise ValueError(f"bank: hashed sets must be a power of two, not {self.sets}")
        if self.data == ARRAY and self.stages == 1:
            raise ValueError(
                "bank: data=array needs 2 or 3 stages: a way is known only at the end of the first"
            )

    @property
    def hashed(self) -> bool:
        """Return whether the mapping of lines to sets is hashed."""
        return self.index == HASHED

    @property
    def memory_port(self) -> MemoryPort:
        """Return the fields of requests and replies, on both sides of the bank."""
        return MemoryPort(self.tag_bits, self.address_bits, self.line_bits)

    @property
    def line_bits(self) -> int:
        """Return the bits of a line at the ports and in the data array; 0 without a data array."""
        return 8 * self.line_bytes if self.data == ARRAY else 0

    @property
    def offset_bits(self) -> int:
        """Return the bits of the offset of a byte in its line."""
        return self.line_bytes.bit_length() - 1
