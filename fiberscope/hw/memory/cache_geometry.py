"""Geometry and policies of a FiberCache, and their limits."""

from __future__ import annotations

from dataclasses import dataclass

# The least and the most of each number of a specification.
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
    """A FiberCache's geometry and policies, per bank where not said otherwise.

    Args:
        banks: banks of the whole cache; lines are interleaved over them.
        sets: sets of one bank.
        ways: ways of a set.
        line_bytes: bytes of a line.
        misses: misses in flight (miss status holding registers).
        targets: reads that wait for lines in flight.
        priority_limit: where a line's count of reads to come saturates; 0 for SRRIP alone.
        reuse_limit: largest re-reference prediction value of SRRIP, 3 for its two bits.
        stages: cycles from a request's entry to its decision: tags are read, compared, a victim is chosen.
        index: how a line finds its set, see ``fiberscope.hw.memory.tags``: ``"interleaved"``, or
            ``"hashed"``, for as many sets as a power of two.

    Raises:
        ValueError: if a number is out of its ``LIMITS``, or the index is none or none for so many sets.
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
        """Refuse what no cache can have."""
        for name, (least, most) in LIMITS.items():
            number = getattr(self, name)
            if not least <= number <= most:
                raise ValueError(f"FiberCache: {name} must be from {least} to {most}, not {number}")
        if self.index not in INDEXES:
            raise ValueError(f"FiberCache: index must be one of {', '.join(INDEXES)}, not {self.index}")
        if self.index == HASHED and self.sets & (self.sets - 1):
            raise ValueError(f"FiberCache: hashed sets must be a power of two, not {self.sets}")
