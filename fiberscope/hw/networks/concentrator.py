# cython: infer_types=True
"""A concentrator, through which several requesters share one port of a memory network."""

from __future__ import annotations

from array import array

from fiberscope.hw.memory.protocol import PORT_SHIFT, REPLY, REQUEST, TAG_MASK
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError


class Concentrator(Component):
    """A concentrator: requests share a port to the network, and replies return to their requesters.

    Interface: requests of ``inputs[i]`` are sent on ``requests``, and their replies from ``replies`` on
    ``outputs[i]``. A request gets the port ``first_port + i`` in its tag, whose bits from ``PORT_SHIFT`` up
    must be 0 before; the reply returns without them. The network must route replies by groups
    (``PortRoute``). The last requesters need no output if they get no replies; a reply is an error.

    Timing: one request and one reply a cycle, each sent in the cycle in which it is seen if its output has a
    free slot. The requesters are served in round-robin order. Requests and replies do not block each other. A
    reply whose output is full blocks all later replies.

    Accounting: busy while a request or a reply moves; else waiting for ``requests`` if a request is blocked;
    else waiting for any of ``outputs`` if a reply is blocked.

    Counts: ``sent``, the requests; ``returned``, the replies.

    Args:
        first_port: port number of the first requester at the network.

    Raises:
        SimulationError: during the run, if a reply is for a port without an output.
    """

    PORTS = (
        Input("inputs", REQUEST, array=True),
        Output("requests", REQUEST),
        Input("replies", REPLY),
        Output("outputs", REPLY, array=True, optional=True),
    )
    COUNTERS = ("sent", "returned")
    SIGNALS = (Signal("sent", 48), Signal("returned", 48))

    inputs: list[Channel]
    requests: Channel
    replies: Channel
    outputs: list[Channel]

    def __init__(self, name: str, first_port: int) -> None:
        super().__init__(name)
        self.first_port = first_port
        self.turn = 0  # input that is served first
        self.sent = self.returned = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        self.input_count, self.output_count = len(self.inputs), len(self.outputs)
        # One entry for each input, then the entry of ``replies``.
        self.seen_from = seen_from([*self.inputs, self.replies])  # C: long[::1]

    def tick(self, now: int) -> int:
        """Pass on one request and one reply."""
        index = self._head(now)
        sends = index >= 0 and self.requests.can_push()
        if sends:
            self._send(index)
        replies = self.seen_from[self.input_count] <= now
        # ``_return`` is first, so that it also runs in a cycle in which a request was sent.
        if (replies and self._return()) or sends:
            return self.busy(now + 1)
        if index >= 0:
            return self.wait_output(self.requests)
        return self.wait_any_output(self.outputs) if replies else self.idle()

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0], values[1] = self.sent, self.returned

    def _head(self, now: int) -> int:  # C: noexcept, inline
        """Return the next requester in round-robin order that has a token, -1 if none has."""
        index = self.turn
        for _ in range(self.input_count):
            if index >= self.input_count:
                index = 0
            if self.seen_from[index] <= now:
                return index
            index += 1
        return -1

    def _send(self, index: int) -> None:  # C: inline
        source = self.inputs[index]
        tag = source.coordinate() + ((self.first_port + index) << PORT_SHIFT)
        self.requests.push(source.control(), tag, source.reference(), source.value())
        source.pop()
        # After the last input this is the number of inputs; ``_head`` then begins with input 0.
        self.turn = index + 1
        self.sent += 1

    def _return(self) -> bool:  # C: inline
        """Pass on the reply at the head; return whether its output had a free slot."""
        tag = self.replies.coordinate()
        index = (tag >> PORT_SHIFT) - self.first_port
        if index < 0 or index >= self.output_count:
            raise SimulationError(f"{self.replies.name}: no output {index}; there are {self.output_count}")
        sink = self.outputs[index]
        if not sink.can_push():
            return False
        sink.push(self.replies.control(), tag & TAG_MASK, self.replies.reference(), self.replies.value())
        self.replies.pop()
        self.returned += 1
        return True
