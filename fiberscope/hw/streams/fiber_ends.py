# cython: infer_types=True
"""Which stops end a fiber, for who sees no more than the fibers."""

from __future__ import annotations

from fiberscope.hw.streams.quirks import Q16


class FiberEnds:  # C: final
    """Tells for each stop of a stream whether it ends a fiber.

    A stop ends a fiber, unless it can as well be that of a list without any: one of level 1 or higher, at the
    start or behind another such. Only the stream of the level above tells the two apart.

    Quirks: Q16, an empty fiber is forgotten, as if its coordinate in the level above had been dropped.

    Args:
        quirks: see ``StreamBlock``.
    """

    def __init__(self, quirks: int) -> None:
        self.forgets_empty = bool(quirks & Q16)
        self.begun = False  # an element has come since the last stop
        self.level_before = 1  # of that stop

    def element(self) -> None:  # C: noexcept
        """An element comes."""
        self.begun = True

    def stop(self, level: int) -> bool:  # C: noexcept
        """A stop comes; whether a fiber ends with it."""
        empty = not self.forgets_empty and (level == 0 or self.level_before == 0)
        ends = self.begun or empty
        self.begun = False
        self.level_before = level
        return ends
