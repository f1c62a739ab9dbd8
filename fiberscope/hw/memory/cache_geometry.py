"""Geometry and policies of a FiberCache, and their limits."""

from __future__ import annotations

from dataclasses import dataclass

# Minimum and maximum of each number of a specification
LIMITS = {
    "banks": (1, 4096),
    "sets": (1, 1 << 22),
    "ways": (1, 1024),
    "line_bytes": (2, 4096),
    "misses": (1, 4096),
    "targets": (1, 65536),
    "priority_limit": (0, (1 << 16) - 1),
    "reuse_limit": (1, (1 << 8) - 1),
    "stages": (1, 16),
}
INTERLEAVED, HASHED = "interleaved", "hashed"
INDEXES = (INTERLEAVED, HASHED)


@dataclass(frozen=True)
class FiberCacheSpecification:
    """The geometry and the policies of a FiberCache.

    Args:
        banks: number of banks of the whole cache; lines are interleaved over the banks.
        sets: number of sets of a bank.
        ways: number of ways of a set.
        misses: number of miss status holding registers of a bank, the maximum number of misses in flight.
        targets: maximum number of requests of a bank that wait for lines in flight.
        priority_limit: maximum of a line's priority, which counts its expected reads. With 0, all priorities
            are equal, so that only dirty bits and SRRIP choose the victim.
        reuse_limit: largest re-reference prediction value of SRRIP; 3 for values of two bits.
        stages: cycles from the acceptance of a request until the bank processes it. In these cycles, the bank
            reads and compares the tags and chooses a victim.
        index: mapping of lines to sets, see ``fiberscope.hw.memory.tags``: ``"interleaved"``, or
            ``"hashed"``, which requires that ``sets`` is a power of two.

    Raises:
        ValueError: if a number is outside its ``LIMITS``, the index is unknown, or hashed sets are not a
            power of two.
    """

    banks: int
    sets: int
    ways: int
    line_bytes: int = 64
    misses: int = 16
    targets: int = 64
    priority_limit: int = 15
    reuse_limit: int = 3
    stages: int = 3
    index: str = INTERLEAVED

    def __post_init__(self) -> None:
        """Check the values."""
        for name, (least, most) in LIMITS.items():
            number = getattr(self, name)
            if not least <= number <= most:
                raise ValueError(f"FiberCache: {name} must be from {least} to {most}, not {number}")
        if self.index not in INDEXES:
            raise ValueError(f"FiberCache: index must be one of {', '.join(INDEXES)}, not {self.index}")
        if self.index == HASHED and self.sets & (self.sets - 1):
            raise ValueError(f"FiberCache: hashed sets must be a power of two, not {self.sets}")
