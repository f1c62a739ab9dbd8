# cython: infer_types=True
"""Arrays of ports as the lanes of a row, for blocks that are no plain pipeline of rows."""

from __future__ import annotations

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError


def first_missing(sources: list[Channel]) -> int:  # C: cdef, noexcept
    """The first lane that shows no token; -1 if all do."""
    for lane in range(len(sources)):
        source = sources[lane]  # C: Channel
        if not source.can_pop():
            return lane
    return -1


def any_shown(sources: list[Channel]) -> bool:  # C: cdef, noexcept
    """Return whether a lane shows a token."""
    for lane in range(len(sources)):
        source = sources[lane]  # C: Channel
        if source.can_pop():
            return True
    return False


def first_full(sinks: list[Channel]) -> int:  # C: cdef, noexcept
    """The first lane without space; -1 if all have some."""
    for lane in range(len(sinks)):
        sink = sinks[lane]  # C: Channel
        if not sink.can_push():
            return lane
    return -1


def check_connected(component: Component, port: str, lanes: int, *, optional: bool = False) -> None:
    """Refuse an array of ports of which not one a lane is connected, or none where that may be.

    Raises:
        SimulationError: naming the component and how many it needs.
    """
    count = len(component.channels(port))
    if count != lanes and not (optional and count == 0):
        raise SimulationError(f"{component.name}: connect {lanes} {port}, one a lane, not {count}")
