# cython: infer_types=True
"""Functions on the channels of a port array, for blocks with lanes that are not a ``RowPipeline``."""

from __future__ import annotations

from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.errors import SimulationError


def first_missing(sources: list[Channel]) -> int:  # C: cdef, noexcept
    """Return the first lane without a token, -1 if all have one."""
    for lane in range(len(sources)):
        source = sources[lane]  # C: Channel
        if not source.can_pop():
            return lane
    return -1


def any_shown(sources: list[Channel]) -> bool:  # C: cdef, noexcept
    """Return whether any lane has a token."""
    for lane in range(len(sources)):
        source = sources[lane]  # C: Channel
        if source.can_pop():
            return True
    return False


def first_full(sinks: list[Channel]) -> int:  # C: cdef, noexcept
    """Return the first lane without a free slot, -1 if all have one."""
    for lane in range(len(sinks)):
        sink = sinks[lane]  # C: Channel
        if not sink.can_push():
            return lane
    return -1


def check_connected(component: Component, port: str, lanes: int, *, optional: bool = False) -> None:
    """Check the number of connected ports of a port array.

    Args:
        component: the component of the ports.
        port: name of the port array.
        lanes: required number of connected ports.
        optional: whether no connected port is legal too.

    Raises:
        SimulationError: if another number of ports is connected; the message has the required number.
    """
    count = len(component.channels(port))
    if count != lanes and not (optional and count == 0):
        raise SimulationError(f"{component.name}: connect {lanes} {port}, one a lane, not {count}")
