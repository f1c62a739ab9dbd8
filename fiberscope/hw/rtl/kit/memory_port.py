"""Memory port of a module, as requester or as memory: one port for every block with memory requests."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from fiberscope.hw.memory.protocol import OPERATIONS, PORT_SHIFT
from fiberscope.hw.rtl.kit.interface import Content, Direction, Payload, Stream
from fiberscope.hw.rtl.kit.twin import Signal

__all__ = ["CONTROL_BITS", "LINE", "LINE_BITS", "MemoryPort"]

LINE = "line"  # the field of what is written or was read

CONTROL_BITS = (len(OPERATIONS) - 1).bit_length()
LINE_BITS = (0, 4096)  # that a network may carry beside a token


@dataclass(frozen=True)
class MemoryPort:
    """Requests and replies as ``fiberscope.hw.memory.protocol`` has them: operation, tag and byte address of
    a line.

    Args:
        tag_bits: width of a tag, above ``PORT_SHIFT``; the bits from there up are the asker's port.
        address_bits: width of a byte address, which is not negative.
        line_bits: bits of the line that goes with a write, and with a reply to a read; 0 where none does.
    """

    tag_bits: int = 48
    address_bits: int = 48
    line_bits: int = 0

    @property
    def fields(self) -> Content:
        """Each field of a request or reply, mostly its bits."""
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
        """Requests or replies; a lane of those sent in one cycle is labelled as of any stream."""
        return Stream(label, prefix or label, direction, self.fields)

    def tags(self, label: str, direction: Direction) -> Stream:
        """Replies to who needs nothing of them but the tag, and the line."""
        return Stream(label, label, direction, {"coordinate": self.tag_bits, **self._line})

    def operation(self, code: int) -> Signal:
        """One of the operations, as a field."""
        return pyrtl.Const(code, CONTROL_BITS)

    def tag(self, port: int, number: Signal) -> Signal:
        """The tag by which an asker at this port knows the reply again: a number of its own."""
        return pyrtl.concat(pyrtl.Const(port, self.tag_bits - PORT_SHIFT), number.zero_extended(PORT_SHIFT))

    def token(
        self, operation: Signal, tag: Signal, address: Signal, line: Signal | None = None
    ) -> dict[str, Signal]:
        """A request or reply, to be sent; its line is zeros if it has none."""
        token = {"control": operation, "coordinate": tag, "reference": address}
        nothing = {name: pyrtl.Const(0, payload.width) for name, payload in self._line.items()}
        return token | (nothing if line is None else {LINE: line})
