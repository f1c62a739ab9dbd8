# cython: infer_types=True
"""Routes through a network: the output to which each token goes."""

from __future__ import annotations

from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.sim.channel import Channel


class Route:
    """Base class of routes. A subclass overrides ``output``; the subclass may be plain Python."""

    def output(self, head: Channel, outputs: int) -> int:
        """Return the output of a token, from 0 to ``outputs`` - 1; called once for each token.

        A crossbar raises ``SimulationError`` for any other number.

        Args:
            head: channel with the token at its head; the route must not pop it.
            outputs: number of outputs of the network.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define output")


class AddressRoute(Route):
    """Route of memory requests by address (the reference of the token).

    The output is ``address // interleave_bytes % outputs``.

    Args:
        interleave_bytes: size in bytes of a block of consecutive addresses that maps to one output.

    Raises:
        ValueError: if ``interleave_bytes`` is less than 1.
    """

    def __init__(self, interleave_bytes: int) -> None:
        if interleave_bytes < 1:
            raise ValueError(f"interleave_bytes must be at least 1, not {interleave_bytes}")
        self.interleave_bytes = interleave_bytes

    def output(self, head: Channel, outputs: int) -> int:
        """Return the output for the address of a request."""
        return head.reference() // self.interleave_bytes % outputs


class PortRoute(Route):
    """Route of memory replies to the port that sent the request.

    The upper bits of a reply's tag (its coordinate field) are the number of the port.

    Args:
        group: number of consecutive ports that share an output, such as the ports of a concentrator.

    Raises:
        ValueError: if ``group`` is less than 1.
    """

    def __init__(self, group: int = 1) -> None:
        if group < 1:
            raise ValueError(f"group must be at least 1, not {group}")
        self.group = group

    def output(self, head: Channel, outputs: int) -> int:
        """Return the output for the tag of a reply; it may not exist, as ``outputs`` is not considered."""
        return (head.coordinate() >> PORT_SHIFT) // self.group  # the network refuses a number out of range


class CoordinateRoute(Route):
    """Route of tokens by coordinate: to the output ``coordinate % outputs``."""

    def output(self, head: Channel, outputs: int) -> int:
        """Return the output for the coordinate of a token."""
        return head.coordinate() % outputs
