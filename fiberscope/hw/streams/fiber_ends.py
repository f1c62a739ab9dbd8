# cython: infer_types=True
"""Detection of the stops that end a fiber, from the stream of the fibers alone."""

from __future__ import annotations

from fiberscope.hw.streams.quirks import Q16


class FiberEnds:  # C: final
    """Tells for each stop of a stream whether it ends a fiber.

    A stop ends a fiber, unless it can be the end of a list without fibers. This is so for a stop of level 1
    or higher at the start of the stream, or directly after another stop of level 1 or higher. Only the
    stream of the level above distinguishes an empty fiber from an empty list there.

    Quirks: Q16: an empty fiber is ignored, as if its coordinate in the level above had been dropped.

    Args:
        quirks: see ``StreamBlock``.
    """

    def __init__(self, quirks: int) -> None:
        self.forgets_empty = bool(quirks & Q16)
        self.has_element = False  # whether an element has come since the last stop
        self.level_before = 1  # level of the last stop; at the start as after a stop of level 1

    def element(self) -> None:  # C: noexcept
        """Record an element of the stream."""
        self.has_element = True

    def stop(self, level: int) -> bool:  # C: noexcept
        """Record a stop of this level, and return whether it ends a fiber."""
        is_empty = not self.forgets_empty and (level == 0 or self.level_before == 0)
        ends_fiber = self.has_element or is_empty
        self.has_element = False
        self.level_before = level
        return ends_fiber
