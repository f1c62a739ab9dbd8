# cython: infer_types=True
"""Which output of a network a token goes to."""

from __future__ import annotations

from fiberscope.hw.memory.protocol import PORT_SHIFT
from fiberscope.sim.channel import Channel


class Route:
    """Route of tokens through a network. A subclass says by what; a plain Python one will do."""

    def output(self, head: Channel, outputs: int) -> int:
        """The output for the token at the head of a channel, of so many; asked once for each token."""
        raise NotImplementedError(f"{type(self).__name__} does not define output")


class AddressRoute(Route):
    """Memory requests by their address: output ``(address // interleave_bytes) % outputs``.

    Args:
        interleave_bytes: bytes side by side behind one output.

    Raises:
        ValueError: if they are less than 1.
    """

    def __init__(self, interleave_bytes: int) -> None:
        if interleave_bytes < 1:
            raise ValueError(f"interleave_bytes must be at least 1, not {interleave_bytes}")
        self.interleave_bytes = interleave_bytes

    def output(self, head: Channel, outputs: int) -> int:
        """By the address."""
        return head.reference() // self.interleave_bytes % outputs


class PortRoute(Route):
    """Memory replies back to the port that asked, whose number the tag's upper bits are.

    Args:
        group: ports in a row that share an output, as those behind a concentrator do.

    Raises:
        ValueError: if the group is less than 1.
    """

    def __init__(self, group: int = 1) -> None:
        if group < 1:
            raise ValueError(f"group must be at least 1, not {group}")
        self.group = group

    def output(self, head: Channel, outputs: int) -> int:
        """By the tag."""
        return (head.coordinate() >> PORT_SHIFT) // self.group


class CoordinateRoute(Route):
    """Tokens by their coordinate, output ``coordinate % outputs``: ids are dealt out by their low bits."""

    def output(self, head: Channel, outputs: int) -> int:
        """By the coordinate."""
        return head.coordinate() % outputs
