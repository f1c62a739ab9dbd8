"""Memory port of a module, as requester or as memory, common to all blocks."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.memory.protocol import OPERATIONS, PORT_SHIFT
from fiberscope.hw.rtl.kit.interface import Content, Direction, Payload, Stream
from fiberscope.hw.rtl.kit.twin import Signal

LINE = "line"  # the field with the data of a line

CONTROL_BITS = (len(OPERATIONS) - 1).bit_length()
LINE_BITS = (0, 4096)  # payload bits that a network may carry beside a token


@dataclass(frozen=True)
class MemoryPort:
    """Requests and replies of ``fiberscope.hw.memory.protocol``: operation, tag and byte address of a line.

    Args:
        tag_bits: width of a tag, above ``PORT_SHIFT``. The upper bits are the requester's port.
        address_bits: width of a byte address. The highest bit is the sign of a reference, and 0.
        line_bits: bits of the line in a write, or in the reply to a read; 0 without lines.
    """

    tag_bits: int = 48
    address_bits: int = 48
    line_bits: int = 0

    @property
    def fields(self) -> Content:
        """The fields of a request or reply; the line is a payload, which no token of a channel carries."""
        return {
            "control": CONTROL_BITS,
            "coordinate": self.tag_bits,
            "reference": self.address_bits,
            **self._line,
        }

    @property
    def _line(self) -> dict[str, Payload]:
        return {LINE: Payload(self.line_bits)} if self.line_bits else {}

    def stream(self, label: str, direction: Direction, prefix: str = "") -> Stream:
        """Return a stream of requests or replies.

        Args:
            label: port of the component, with a lane as for any ``Stream``.
            direction: direction from the module's side.
            prefix: prefix of the wires' names; empty for the label.
        """
        return Stream(label, prefix or label, direction, self.fields)

    def tags(self, label: str, direction: Direction) -> Stream:
        """Return a stream of replies with only the tag and the line."""
        return Stream(label, label, direction, {"coordinate": self.tag_bits, **self._line})

    def operation(self, code: int) -> Signal:
        """Return an operation of ``fiberscope.hw.memory.protocol`` as the field ``control``."""
        return pyrtl.Const(code, CONTROL_BITS)

    def tag(self, port: int, number: Signal) -> Signal:
        """Return the tag of a requester's port and its own number, by which it recognises the reply.

        The number has at most ``PORT_SHIFT`` bits, and the port fits the bits above.
        """
        return pyrtl.concat(pyrtl.Const(port, self.tag_bits - PORT_SHIFT), number.zero_extended(PORT_SHIFT))

    def token(
        self, operation: Signal, tag: Signal, address: Signal, line: Signal | None = None
    ) -> dict[str, Signal]:
        """Return a request or reply; without a line, the line is zero."""
        token = {"control": operation, "coordinate": tag, "reference": address}
        nothing = {name: pyrtl.Const(0, payload.width) for name, payload in self._line.items()}
        return token | (nothing if line is None else {LINE: line})
