"""On-chip networks."""

from __future__ import annotations

from array import array

from hw.memory import PORT_SHIFT
from sim.channel import Channel
from sim.component import ANY, Component, Input, Output, Signal


class Crossbar(Component):
    """Moves tokens from any input to any output: one a cycle from each input, one a cycle to each output.

    Interface: whatever comes in on ``inputs[i]`` leaves on the output that its route names. Inputs that want
    the same output take turns: the input served first rotates by one every cycle. A token that cannot move
    holds up those behind it (no virtual channels).

    Timing: a token that wins leaves in the cycle in which it is seen; the traversal takes the latency of the
    output's channel.

    Args:
        name: instance name.
        interleave_bytes: route requests by address: output ``(address // interleave_bytes) % outputs``.
            0 routes replies by the port number in the tag.
    """

    PORTS = (Input("inputs", ANY, array=True), Output("outputs", ANY, array=True))

    def __init__(self, name: str, interleave_bytes: int = 0) -> None:
        super().__init__(name)
        self.interleave_bytes = interleave_bytes
        self.transfers = 0
        self.conflicts = 0

    def elaborate(self) -> None:
        """Fetch the channels."""
        self.inputs = self.channels("inputs")
        self.outputs = self.channels("outputs")
        self.input_count = len(self.inputs)
        self.output_count = len(self.outputs)
        self.last_used = array("q", [-1] * self.output_count)

    def tick(self, now: int) -> int:
        """Move every head that wins its output."""
        moved = 0
        full = self.output_count
        first = now % self.input_count
        for step in range(self.input_count):
            index = first + step
            if index >= self.input_count:
                index -= self.input_count
            source = self._input(index)
            if not source.can_pop():
                continue
            output = self._route(source)
            if self.last_used[output] == now:
                self.conflicts += 1
            elif self._output(output).can_push():
                self._move(source, output)
                self.last_used[output] = now
                moved += 1
            elif output < full:
                full = output
        if moved > 0:
            self.transfers += moved
            return self.busy(now + 1)
        if full < self.output_count:
            return self.wait_output(self._output(full))
        return self.idle()

    def _route(self, source: Channel) -> int:
        if self.interleave_bytes > 0:
            return source.reference() // self.interleave_bytes % self.output_count
        return source.coordinate() >> PORT_SHIFT

    def _move(self, source: Channel, output: int) -> None:
        self._output(output).push(source.control(), source.coordinate(), source.reference(), source.value())
        source.pop()

    def _input(self, index: int) -> Channel:
        return self.inputs[index]

    def _output(self, index: int) -> Channel:
        return self.outputs[index]

    def counters(self) -> dict[str, int]:
        """Tokens moved, and cycles that a head lost to another input."""
        return {"transfers": self.transfers, "conflicts": self.conflicts}

    def signals(self) -> tuple[Signal, ...]:
        """Tokens moved so far."""
        return (Signal("transfers", 48),)

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.transfers,)
