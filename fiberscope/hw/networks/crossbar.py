# cython: infer_types=True
"""On-chip networks."""

from __future__ import annotations

from array import array
from typing import ClassVar

from fiberscope.hw.memory.protocol import PORT_SHIFT, REPLY, REQUEST, TAG_MASK, HeldRequest
from fiberscope.hw.networks.arbitration import ArbitrationPolicy, head_of
from fiberscope.hw.networks.routes import Route
from fiberscope.sim.channel import Channel, seen_from
from fiberscope.sim.component import Component, Input, Output, Signal
from fiberscope.sim.errors import SimulationError
from fiberscope.sim.protocol import ANY

UNKNOWN = -1


class Crossbar(Component):
    """Moves tokens from any input to any output: one a cycle from each input, one a cycle to each output.

    Interface: whatever comes in on ``inputs[i]`` leaves on the output that its route names. Inputs that want
    the same output take turns (a round-robin arbiter at each output: the turn passes to the input behind the
    one just served), so that none waits for more than one token of each other. A token that cannot move holds
    up those behind it, wherever they go (head-of-line blocking); ``QueuedCrossbar`` is without that.

    Timing: a token that wins leaves in the cycle in which it is seen; the traversal takes the latency of the
    output's channel.

    Args:
        name: instance name.
        route: says which output a token goes to.

    Raises:
        SimulationError: in the run, if a route names no output.
    """

    PORTS = (Input("inputs", ANY, array=True), Output("outputs", ANY, array=True))
    COUNTERS = ("transfers", "conflicts")  # moved tokens, and cycles in which another input won over a head
    SIGNALS: ClassVar[tuple[Signal, ...]] = (Signal("transfers", 48), Signal("conflicts", 48))
    POLICY: ClassVar[type[ArbitrationPolicy] | None] = ArbitrationPolicy

    inputs: list[Channel]
    outputs: list[Channel]

    def __init__(self, name: str, route: Route) -> None:
        super().__init__(name)
        self.route = route
        self.policy: ArbitrationPolicy | None = None  # C: public
        self.transfers = 0
        self.conflicts = 0

    def elaborate(self) -> None:
        """Fetch the channels, and make room for what is wanted of each."""
        super().elaborate()
        self.input_count = len(self.inputs)
        self.output_count = len(self.outputs)
        self.seen_from = seen_from(self.inputs)  # C: long[::1]
        self.turns = array("q", bytes(8 * self.output_count))  # first input in the order of each output
        self.winners = array("q", [-1] * self.output_count)
        self.contenders = array("q", bytes(8 * self.output_count))
        self.wanted = array("q", bytes(8 * self.output_count))  # outputs that a head requests in this cycle
        self.goals = array("q", [UNKNOWN] * self.input_count)  # output that each input's head requests

    def tick(self, now: int) -> int:
        """Move every head that wins its output."""
        moved = 0
        wanted = self._arbitrate(now)
        for place in range(wanted):
            output = self.wanted[place]
            sink = self.outputs[output]
            if sink.can_push():
                self._grant(output, now)
                moved += 1
            self.winners[output] = -1
        if moved > 0:
            self.transfers += moved
            return self.busy(now + 1)
        return self.idle() if wanted == 0 else self._wait_for_space(wanted)

    def _wait_for_space(self, wanted: int) -> int:
        """Wait for the output that is wanted, or for any of several."""
        if wanted == 1:
            return self.wait_output(self.outputs[self.wanted[0]])
        return self.wait_any_output(self.outputs)

    def _arbitrate(self, now: int) -> int:  # C: inline
        """Find the winner of each output that a head wants; returns how many outputs are wanted."""
        count = 0
        for index in range(self.input_count):
            if self.seen_from[index] > now:
                continue
            if self.goals[index] == UNKNOWN:
                self.goals[index] = self._goal(self.inputs[index])
            output = self.goals[index]
            if self.winners[output] < 0:
                self.wanted[count] = output
                self.contenders[output] = 0
                count += 1
            else:
                self.contenders[output] += 1
            self._contend(output, index)
        if self.policy is not None:
            self._ask_policy(self.policy, count, now)
        return count

    def _ask_policy(self, policy: ArbitrationPolicy, count: int, now: int) -> None:
        """Let the policy choose among several heads that want the same output."""
        seen = [index for index in range(self.input_count) if self.seen_from[index] <= now]
        for place in range(count):
            output = self.wanted[place]
            if self.contenders[output] > 0:
                heads = [head_of(index, self.inputs[index]) for index in seen if self.goals[index] == output]
                self.winners[output] = policy.winning_port(output, heads, now)

    def _contend(self, output: int, index: int) -> None:  # C: noexcept, inline
        """An input wants an output; called for the inputs in their order, the first from its turn on wins."""
        winner = self.winners[output]
        if winner < 0 or winner < self.turns[output] <= index:
            self.winners[output] = index

    def _goal(self, source: Channel) -> int:  # C: inline
        """The output of the token at the head of an input."""
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
    """A crossbar whose inputs have a queue for each output: a token waits for its own output alone.

    Interface: that of ``Crossbar``. Each input takes a token a cycle into its queues, which share space for
    ``room`` tokens; those from one input to one output keep their order.

    Timing: in each cycle an input asks for every output that it has a token for and that has space; an output
    grants the input next in its turn; of its grants an input takes that of the token that came first, and
    only then does the turn pass to the input behind. A token may leave in the cycle in which it is seen.

    Source: queues that share an input's space: Tamir and Frazier (ISCA 1988). Turns that move only with a
    grant that is taken: iSLIP with one iteration, McKeown (IEEE/ACM Trans. Networking 7(2), 1999). That an
    input takes its oldest token is a choice of this model.

    Args:
        name: instance name.
        route: says which output a token goes to.
        room: tokens that an input's queues hold together.

    Raises:
        ValueError: if ``room`` is below 1.
        SimulationError: in the run, if a route names no output.
    """

    SIGNALS = (*Crossbar.SIGNALS, Signal("held", 16))  # number of tokens in all queues
    POLICY = None

    def __init__(self, name: str, route: Route, room: int) -> None:
        super().__init__(name, route)
        if room < 1:
            raise ValueError(f"{name}: room must be at least 1, not {room}")
        self.room = room
        self.held = 0  # number of tokens in all queues

    def elaborate(self) -> None:
        """Fetch the channels and make the queues."""
        super().elaborate()
        slots = self.room * self.input_count
        self.counts = array("q", bytes(8 * self.input_count))  # number of tokens in the queues, by input
        # By input: its slots. Occupied slots come first, in the order of arrival.
        self.order = array("q", range(slots))
        self.goals = array("q", bytes(8 * slots))  # output that each slot's token requests
        self.controls = array("q", bytes(8 * slots))
        self.coordinates = array("q", bytes(8 * slots))
        self.references = array("q", bytes(8 * slots))
        self.values = array("d", bytes(8 * slots))
        self.asked = array("q", [-1] * self.output_count)  # last input that requested the output, by output
        self.open = array("b", bytes(self.output_count))  # C: char[::1]; by output: whether it has space

    def tick(self, now: int) -> int:
        """Take in a token of every input and send those that win."""
        taken = self._take_in(now)
        count = self._ask()
        moved = self._accept()
        self._end_asking(count)
        if taken > 0 or moved > 0:
            self.transfers += moved
            return self.busy(now + 1)
        return self.idle() if self.held == 0 else self._wait_for_space(count)

    def _take_in(self, now: int) -> int:
        """Take a token from every input whose queues have room; returns how many."""
        taken = 0
        for index in range(self.input_count):
            if self.counts[index] < self.room and self.seen_from[index] <= now:
                self._store(index, self.inputs[index])
                taken += 1
        return taken

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

    def _ask(self) -> int:
        """Every input asks, every output with space chooses among them; returns how many are wanted."""
        count = 0
        for index in range(self.input_count):
            first = index * self.room
            for place in range(first, first + self.counts[index]):
                if self._wants(index, self.goals[self.order[place]], count):
                    count += 1
        return count

    def _wants(self, index: int, output: int, count: int) -> bool:
        """An input has a token for an output; says whether that is the first token for it in this cycle."""
        first = self.asked[output] < 0
        if first:
            self.wanted[count] = output
            sink = self.outputs[output]
            self.open[output] = sink.can_push()
        if self.asked[output] != index:
            self.asked[output] = index
            if self.open[output]:
                self._contend(output, index)
                self.conflicts += 1  # undone when the head is served
        return first

    def _accept(self) -> int:
        """Every input sends its oldest token among those granted; returns how many do."""
        moved = 0
        for index in range(self.input_count):
            place = self._oldest_granted(index)
            if place >= 0:
                self._send(index, place)
                moved += 1
        self.conflicts -= moved
        return moved

    def _oldest_granted(self, index: int) -> int:  # C: noexcept
        first = index * self.room
        for place in range(first, first + self.counts[index]):
            if self.winners[self.goals[self.order[place]]] == index:
                return place
        return -1

    def _send(self, index: int, place: int) -> None:
        """A token leaves; its slot becomes the first free one of the input."""
        slot = self.order[place]
        output = self.goals[slot]
        sink = self.outputs[output]
        sink.push(self.controls[slot], self.coordinates[slot], self.references[slot], self.values[slot])
        self.turns[output] = index + 1
        self.counts[index] -= 1
        self.held -= 1
        last = index * self.room + self.counts[index]
        for behind in range(place, last):
            self.order[behind] = self.order[behind + 1]
        self.order[last] = slot

    def held_requests(self) -> list[HeldRequest]:  # C: def
        """The tokens in all queues, where they are requests or replies of memory."""
        held = []
        for index in range(self.input_count):
            for count in range(self.counts[index]):
                slot = self.order[index * self.room + count]
                token = self.controls[slot], self.coordinates[slot], self.references[slot]
                held.append(HeldRequest(*token, f"in the queue for outputs[{self.goals[slot]}]"))
        return held

    def _end_asking(self, count: int) -> None:  # C: noexcept
        """Make ready for the next cycle."""
        for place in range(count):
            output = self.wanted[place]
            self.asked[output] = self.winners[output] = -1


class Concentrator(Component):
    """Gives several requesters one port at a network: a request a cycle one way, a reply a cycle the other.

    Interface: requests come in on ``inputs[i]`` and leave on ``requests``; what is answered on ``replies``
    leaves on ``outputs[i]``. Its tag has the port ``first_port + i`` towards the network and none towards the
    requester, so the network's replies are to be routed by groups, see ``PortRoute``. Requesters that take no
    replies come last, and need no output.

    Timing: the requester next in its turn goes first, and a token leaves in the cycle in which it is seen, as
    in a ``Crossbar``. Each way waits for space by itself.

    Args:
        name: instance name.
        first_port: the first of the ports at the network that are its requesters'.
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
        self.sent = 0
        self.returned = 0

    def elaborate(self) -> None:
        """Fetch the channels, and count them."""
        super().elaborate()
        self.input_count = len(self.inputs)
        self.output_count = len(self.outputs)
        self.seen_from = seen_from([*self.inputs, self.replies])  # C: long[::1]

    def tick(self, now: int) -> int:
        """Pass on one request and one reply."""
        index = self._head(now)
        sends = index >= 0 and self.requests.can_push()
        if sends:
            self._send(index)
        replies = self.seen_from[self.input_count] <= now
        returns = replies and self._return()
        if sends or returns:
            return self.busy(now + 1)
        if index >= 0:
            return self.wait_output(self.requests)
        return self.wait_any_output(self.outputs) if replies else self.idle()

    def _head(self, now: int) -> int:  # C: noexcept, inline
        """The requester whose turn it is, of those that have something to send; -1 if none has."""
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
        self.turn = index + 1
        self.sent += 1

    def _return(self) -> bool:  # C: inline
        """Return whether the reply at the head could be passed on."""
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


def crossbar(name: str, route: Route, *, virtual_output_queues: int = 0) -> Crossbar:
    """A crossbar whose inputs have virtual output queues with room for so many tokens; 0: one FIFO each.

    Raises:
        ValueError: if the room is negative.
    """
    if virtual_output_queues:
        return QueuedCrossbar(name, route, virtual_output_queues)
    return Crossbar(name, route)
