# cython: infer_types=True
"""Crossbars with and without virtual output queues."""

from __future__ import annotations

from array import array
from typing import ClassVar

from fiberscope.hw.memory.protocol import HeldRequest
from fiberscope.hw.networks.arbitration import ArbitrationPolicy, head_of
from fiberscope.hw.networks.routes import Route
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY

UNKNOWN = -1  # output of an input whose head has not been routed


class Crossbar(Component):
    """A crossbar that moves one token a cycle from each input and one token a cycle to each output.

    Interface: a token on ``inputs[i]`` is sent on the output that its route returns. Each output has a
    round-robin arbiter, so that an input waits for at most one token of each other input; ``policy`` replaces
    the arbiters. A token that cannot move blocks all later tokens of its input, whatever their outputs are
    (head-of-line blocking). ``QueuedCrossbar`` avoids this blocking.

    Timing: a token that wins is sent in the cycle in which it is seen, if its output has a free slot. The
    traversal takes the latency of the output's channel.

    Counts: ``transfers``, the tokens moved; ``conflicts``, for each token moved, the other heads that
    requested its output in this cycle. Cycles in which an output has no free slot do not count.

    Args:
        route: returns the output of a token.

    Raises:
        SimulationError: during the run, if a route returns an output that does not exist, or ``policy``
            chooses a head that it was not offered.
    """

    PORTS = (Input("inputs", ANY, array=True), Output("outputs", ANY, array=True))
    COUNTERS = ("transfers", "conflicts")
    SIGNALS: ClassVar[tuple[Signal, ...]] = (Signal("transfers", 48), Signal("conflicts", 48))
    POLICY: ClassVar[type[ArbitrationPolicy] | None] = ArbitrationPolicy

    inputs: list[Channel]
    outputs: list[Channel]

    def __init__(self, name: str, route: Route) -> None:
        super().__init__(name)
        self.route = route
        self.policy: ArbitrationPolicy | None = None  # C: public
        self.transfers = self.conflicts = 0

    def elaborate(self) -> None:
        """Fetch the channels, and allocate the state of the arbiters."""
        super().elaborate()
        self.input_count, self.output_count = len(self.inputs), len(self.outputs)
        self.seen_from = seen_from(self.inputs)  # C: long[::1]
        self.turns = array("q", bytes(8 * self.output_count))  # by output: input of highest priority
        self.winners = array("q", [-1] * self.output_count)
        # By output: heads that request it, besides the first one
        self.contenders = array("q", bytes(8 * self.output_count))
        self.requested = array("q", bytes(8 * self.output_count))  # outputs requested in this cycle
        self.goals = array("q", [UNKNOWN] * self.input_count)  # output that each input's head requests

    def tick(self, now: int) -> int:
        """Move each head that wins the arbitration of its output."""
        sent_count = 0
        request_count = self._arbitrate(now)
        for position in range(request_count):
            output = self.requested[position]
            sink = self.outputs[output]
            if sink.can_push():
                self._grant(output, now)
                sent_count += 1
            self.winners[output] = -1
        if sent_count > 0:
            self.transfers += sent_count
            return self.busy(now + 1)
        return self.idle() if request_count == 0 else self._wait_for_space(request_count)

    def write_signals(self, values: array[int]) -> None:  # C: cpdef, values=long[::1]
        """Store the current values of the signals."""
        values[0], values[1] = self.transfers, self.conflicts

    def _wait_for_space(self, request_count: int) -> int:
        """Wait for the only requested output, or for any output if several are requested."""
        if request_count == 1:
            return self.wait_output(self.outputs[self.requested[0]])
        return self.wait_any_output(self.outputs)

    def _arbitrate(self, now: int) -> int:  # C: inline
        """Find the winner of each output that a head requests; return the number of these outputs."""
        count = 0
        for index in range(self.input_count):
            if self.seen_from[index] > now:
                continue
            if self.goals[index] == UNKNOWN:
                self.goals[index] = self._goal(self.inputs[index])
            output = self.goals[index]
            if self.winners[output] < 0:
                self.requested[count] = output
                self.contenders[output] = 0
                count += 1
            else:
                self.contenders[output] += 1
            self._contend(output, index)
        if self.policy is not None:
            self._apply_policy(self.policy, count, now)
        return count

    def _apply_policy(self, policy: ArbitrationPolicy, count: int, now: int) -> None:
        """Let the policy choose the winner of each output that several heads request."""
        visible = [index for index in range(self.input_count) if self.seen_from[index] <= now]
        for position in range(count):
            output = self.requested[position]
            if self.contenders[output] > 0:
                heads = [head_of(i, self.inputs[i]) for i in visible if self.goals[i] == output]
                self.winners[output] = policy.winning_port(output, heads, now)

    def _contend(self, output: int, index: int) -> None:  # C: noexcept, inline
        """Enter an input into the arbitration of an output; called for the inputs in ascending order."""
        winner = self.winners[output]
        # The first input at or after the turn wins; without one, the first input of all
        if winner < 0 or winner < self.turns[output] <= index:
            self.winners[output] = index

    def _goal(self, source: Channel) -> int:  # C: inline
        """Return the output of the token at the head of an input."""
        output = self.route.output(source, self.output_count)
        if output < 0 or output >= self.output_count:
            raise SimulationError(f"{source.name}: no output {output}; there are {self.output_count}")
        return output

    def _grant(self, output: int, now: int) -> None:  # C: inline
        winner = self.winners[output]
        if self.policy is not None:
            self.policy.served(output, head_of(winner, self.inputs[winner]), now)
        self._move(self.inputs[winner], self.outputs[output])
        self.goals[winner] = UNKNOWN
        self.turns[output] = winner + 1
        self.conflicts += self.contenders[output]

    def _move(self, source: Channel, sink: Channel) -> None:  # C: inline
        sink.push(source.control(), source.coordinate(), source.reference(), source.value())
        source.pop()


class QueuedCrossbar(Crossbar):
    """A crossbar with virtual output queues: each input has a queue for each output.

    Interface: that of ``Crossbar``. Each input accepts a token a cycle into a buffer of ``room`` tokens,
    which its queues share. Tokens from the same input to the same output keep their order.

    Timing: in each cycle, an input requests all outputs with a free slot for which it has a token, and each
    output grants one input in round-robin order. An input accepts the grant for its oldest token. Only an
    accepted grant advances the round-robin order. A token can be sent in the cycle in which it is seen. An
    input whose buffer is full at the beginning of a cycle accepts no token in it.

    Counts: ``transfers``, the tokens sent; ``conflicts``, in each cycle, the pairs of an input and an output
    with a free slot that the input requests, without those that are served.

    Source: Tamir and Frazier (ISCA 1988) for queues that share the buffer of an input; iSLIP with one
    iteration, McKeown (IEEE/ACM Trans. Networking 7(2), 1999) for an order that only accepted grants advance.
    That an input accepts the grant for its oldest token is a choice of this model.

    Args:
        route: returns the output of a token.
        room: capacity in tokens of the buffer that the queues of an input share.

    Raises:
        ValueError: if ``room`` is below 1.
        SimulationError: during the run, if a route returns an output that does not exist.
    """

    SIGNALS = (*Crossbar.SIGNALS, Signal("held", 16))  # number of tokens in all queues
    POLICY = None

    def __init__(self, name: str, route: Route, room: int) -> None:
        super().__init__(name, route)
        if room < 1:
            raise ValueError(f"{name}: room must be at least 1, not {room}")
        self.room, self.held = room, 0

    def elaborate(self) -> None:
        """Fetch the channels and allocate the queues."""
        super().elaborate()
        slots = self.room * self.input_count
        self.counts = array("q", bytes(8 * self.input_count))  # number of tokens in the queues, by input
        self.order = array("q", range(slots))  # by input: its slots, first the occupied ones as they arrived
        self.goals = array("q", bytes(8 * slots))  # output that each slot's token requests
        self.controls = array("q", bytes(8 * slots))
        self.coordinates = array("q", bytes(8 * slots))
        self.references = array("q", bytes(8 * slots))
        self.values = array("d", bytes(8 * slots))
        self.last_requester = array("q", [-1] * self.output_count)  # by output: the last requesting input
        self.has_space = array("b", bytes(self.output_count))  # C: char[::1]; by output: whether it has space

    def tick(self, now: int) -> int:
        """Accept a token from each input, and send the tokens whose grants are accepted."""
        accepted_count = self._accept_tokens(now)
        count = self._request_outputs()
        sent_count = self._accept_grants()
        self._clear_requests(count)
        if accepted_count > 0 or sent_count > 0:
            self.transfers += sent_count
            return self.busy(now + 1)
        # An output with a free slot would have sent a token, so all requested outputs are full
        return self.idle() if self.held == 0 else self._wait_for_space(count)

    def _accept_tokens(self, now: int) -> int:
        """Accept a token from each input whose buffer has a free slot; return the number of tokens."""
        accepted = 0
        for index in range(self.input_count):
            if self.counts[index] < self.room and self.seen_from[index] <= now:
                self._store(index, self.inputs[index])
                accepted += 1
        return accepted

    def _store(self, index: int, source: Channel) -> None:
        slot = self.order[index * self.room + self.counts[index]]
        self.goals[slot] = self._goal(source)
        self.controls[slot] = source.control()
        self.coordinates[slot] = source.coordinate()
        self.references[slot] = source.reference()
        self.values[slot] = source.value()
        source.pop()
        self.counts[index] += 1
        self.held += 1

    def _request_outputs(self) -> int:
        """Arbitrate each output with a free slot; return the number of outputs for which tokens wait."""
        count = 0
        for index in range(self.input_count):
            first_position = index * self.room
            for position in range(first_position, first_position + self.counts[index]):
                if self._request_output(index, self.goals[self.order[position]], count):
                    count += 1
        return count

    def _request_output(self, index: int, output: int, count: int) -> bool:
        """Request an output for an input; return whether it is the output's first request in this cycle."""
        is_first = self.last_requester[output] < 0
        if is_first:
            self.requested[count] = output
            sink = self.outputs[output]
            self.has_space[output] = sink.can_push()
        if self.last_requester[output] != index:
            self.last_requester[output] = index
            if self.has_space[output]:
                self._contend(output, index)
                self.conflicts += 1  # undone when the head is served
        return is_first

    def _accept_grants(self) -> int:
        """Send the oldest granted token of each input; return the number of tokens sent."""
        sent_count = 0
        for index in range(self.input_count):
            position = self._oldest_granted(index)
            if position >= 0:
                self._send(index, position)
                sent_count += 1
        self.conflicts -= sent_count
        return sent_count

    def _oldest_granted(self, index: int) -> int:  # C: noexcept
        first_position = index * self.room
        for position in range(first_position, first_position + self.counts[index]):
            if self.winners[self.goals[self.order[position]]] == index:
                return position
        return -1

    def _send(self, index: int, position: int) -> None:
        """Send a token; its slot becomes the first free one of the input."""
        slot = self.order[position]
        output = self.goals[slot]
        sink = self.outputs[output]
        sink.push(self.controls[slot], self.coordinates[slot], self.references[slot], self.values[slot])
        self.turns[output] = index + 1
        self.counts[index] -= 1
        self.held -= 1
        last_position = index * self.room + self.counts[index]
        for moved_position in range(position, last_position):
            self.order[moved_position] = self.order[moved_position + 1]
        self.order[last_position] = slot

    def held_requests(self) -> list[HeldRequest]:  # C: def
        """Return the tokens in all queues; only for a network of memory requests or replies."""
        requests = []
        for index in range(self.input_count):
            for age in range(self.counts[index]):
                slot = self.order[index * self.room + age]
                token = self.controls[slot], self.coordinates[slot], self.references[slot]
                requests.append(HeldRequest(*token, f"in the queue for outputs[{self.goals[slot]}]"))
        return requests

    def _clear_requests(self, count: int) -> None:  # C: noexcept
        """Clear the requests and grants of this cycle."""
        for position in range(count):
            output = self.requested[position]
            self.last_requester[output] = self.winners[output] = -1


def crossbar(name: str, route: Route, *, virtual_output_queues: int = 0) -> Crossbar:
    """Return a crossbar with or without virtual output queues.

    Args:
        name, route: as of a ``Crossbar``.
        virtual_output_queues: capacity in tokens of the queues of an input; 0 for a ``Crossbar``.

    Raises:
        ValueError: if the capacity is negative.
    """
    queues = virtual_output_queues
    return QueuedCrossbar(name, route, queues) if queues else Crossbar(name, route)
