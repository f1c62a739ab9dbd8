"""Memory pins that replace a memory channel, so that a bench serves the machine's requests."""

from __future__ import annotations

from collections.abc import Mapping

from fiberscope.hw.memory.protocol import REPLY, REQUEST
from fiberscope.hw.rtl.kit.interface import Interface, Stream, Token, streams
from fiberscope.hw.rtl.kit.memory_port import MemoryPort
from fiberscope.sim import Component, Input, Output
from fiberscope.sim.channel import Channel

DONE = "done"  # status output: the machine has finished
WAITING = 2  # maximum number of replies that wait for space: one in and one out in every cycle

PORT = MemoryPort()


def memory_interface(module: str, channels: int) -> Interface:
    """Return the ports of a machine: requests and replies for each memory channel, and ``done``.

    Fields are those of ``fiberscope.hw.memory.protocol``: operation, tag, byte address. Only reads have
    replies, with all three fields.
    """
    asked = streams("memory_requests", "output", PORT.fields, channels)
    replies = streams("memory_replies", "input", PORT.fields, channels)
    return Interface(module, (*asked, *replies), (DONE,))


class MemoryPins(Component):
    """A replacement for a memory channel: a register before the request pins, two slots after the reply pins.

    Args:
        requests, replies: its streams.

    ``cycle`` is the last simulated cycle, -1 before the first.
    """

    PORTS = (Input("requests", REQUEST), Output("replies", REPLY))

    requests: Channel
    replies: Channel

    def __init__(self, name: str, requests: Stream, replies: Stream) -> None:
        super().__init__(name)
        self.streams = requests, replies
        self.offered: Token | None = None
        self.waiting_replies: list[Token] = []
        self.cycle = -1

    def tick(self, now: int) -> int:
        """Forward tokens between channels and pins, after the transfers at the pins."""
        if self.offered is None and self.requests.can_pop():
            self.offered = Token(*self.requests.token(0))
            self.requests.pop()
        if self.waiting_replies and self.replies.can_push():
            self.replies.push(*self.waiting_replies.pop(0))
        self.cycle = now
        return self.busy(now + 1)

    def outputs(self) -> dict[str, int]:
        """Return the bits of both streams in the next cycle; fields without a token are 0."""
        requests, replies = self.streams
        bits = dict.fromkeys(map(requests.wire, requests.widths), 0)
        if self.offered is not None:
            bits.update(requests.encode(self.offered))
        bits[requests.wire("valid")] = int(self.offered is not None)
        bits[replies.wire("ready")] = int(len(self.waiting_replies) < WAITING)
        return bits

    def move(self, wires: Mapping[str, int]) -> None:
        """Apply the transfers of the cycle with these values of all wires."""
        requests, replies = self.streams
        if requests.moves(wires):
            self.offered = None
        if replies.moves(wires):
            self.waiting_replies.append(replies.decode(wires))
