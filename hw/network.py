"""On-chip networks."""

from __future__ import annotations

from array import array

from hw.memory import PORT_SHIFT
from sim.channel import Channel
from sim.component import ANY, Component, Input, Output, Signal
from sim.errors import SimulationError


class Crossbar(Component):
    """Moves tokens from any input to any output: one a cycle from each input, one a cycle to each output.

    Interface: whatever comes in on ``inputs[i]`` leaves on the output that its route names. Inputs that want
    the same output take turns (round robin at each output: the turn passes to the input behind the one just
    served), so that none waits for more than one token of each other. A token that cannot move holds up those
    behind it (no virtual channels).

    Timing: a token that wins leaves in the cycle in which it is seen; the traversal takes the latency of the
    output's channel.

    Args:
        name: instance name.
        interleave_bytes: route requests by address: output ``(address // interleave_bytes) % outputs``.
            0 routes replies by the port number in the tag.

    Raises:
        ValueError: if ``interleave_bytes`` is negative.
        SimulationError: in the run, if a route names no output.
    """

    PORTS = (Input("inputs", ANY, array=True), Output("outputs", ANY, array=True))

    def __init__(self, name: str, interleave_bytes: int = 0) -> None:
        super().__init__(name)
        if interleave_bytes < 0:
            raise ValueError(f"{name}: interleave_bytes must be at least 0, not {interleave_bytes}")
        self.interleave_bytes = interleave_bytes
        self.transfers = 0
        self.conflicts = 0

    def elaborate(self) -> None:
        """Fetch the channels."""
        self.inputs = self.channels("inputs")
        self.outputs = self.channels("outputs")
        self.input_count = len(self.inputs)
        self.output_count = len(self.outputs)
        self.turns = array("q", bytes(8 * self.output_count))  # the input that each output serves first
        self.winners = array("q", [-1] * self.output_count)
        self.contenders = array("q", bytes(8 * self.output_count))
        self.wanted = array("q", bytes(8 * self.output_count))  # outputs that a head wants in this cycle

    def tick(self, now: int) -> int:
        """Move every head that wins its output."""
        moved = 0
        full = self.output_count
        for place in range(self._arbitrate()):
            output = self.wanted[place]
            if self._output(output).can_push():
                self._grant(output)
                moved += 1
            elif output < full:
                full = output
            self.winners[output] = -1
        if moved > 0:
            self.transfers += moved
            return self.busy(now + 1)
        if full < self.output_count:
            return self.wait_output(self._output(full))
        return self.idle()

    def _arbitrate(self) -> int:
        """Find the winner of each output that a head wants; returns how many outputs are wanted."""
        count = 0
        for index in range(self.input_count):
            source = self._input(index)
            if not source.can_pop():
                continue
            output = self._route(source)
            winner = self.winners[output]
            if winner < 0:
                self.wanted[count] = output
                self.contenders[output] = 0
                count += 1
            else:
                self.contenders[output] += 1
            if winner < 0 or winner < self.turns[output] <= index:
                self.winners[output] = index
        return count

    def _route(self, source: Channel) -> int:
        if self.interleave_bytes > 0:
            output = source.reference() // self.interleave_bytes % self.output_count
        else:
            output = source.coordinate() >> PORT_SHIFT
        if output < 0 or output >= self.output_count:
            raise SimulationError(f"{source.name}: no output {output}; there are {self.output_count}")
        return output

    def _grant(self, output: int) -> None:
        winner = self.winners[output]
        self._move(self._input(winner), output)
        self.turns[output] = winner + 1
        self.conflicts += self.contenders[output]

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
        """Tokens moved so far, and how often a head lost to another input."""
        return (Signal("transfers", 48), Signal("conflicts", 48))

    def sample(self) -> tuple[int, ...]:
        """Current values of the signals."""
        return (self.transfers, self.conflicts)
