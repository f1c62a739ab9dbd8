# cython: infer_types=True
"""A crossbar with a queue for each pair of input and output, matched by the iSLIP algorithm."""

from __future__ import annotations

from array import array

from fiberscope.hw.networks.crossbar import Crossbar
from fiberscope.hw.networks.routes import Route
from fiberscope.sim import raw_words
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Signal

MAX_PORTS = 32  # C: object; inputs or outputs: bits of a word
ONE = 1  # has the width of a word when compiled, unlike a literal


class IslipCrossbar(Crossbar):
    """A crossbar with a FIFO for each pair of input and output (virtual output queues) and iSLIP matching.

    Interface: that of ``Crossbar``. Each input moves a token a cycle into the FIFO of the token's output. If
    this FIFO is full at the beginning of the cycle, the token blocks all later tokens of its input.

    Timing: a token can be sent in the cycle after the one in which it is seen. In each cycle, each output
    with a free slot grants the next input in its round-robin order that has a token for it. Each input
    accepts the grant of the next output in its own round-robin order. An accepted grant advances both
    orders: the output next prefers the input after the served one, and the input next prefers the output
    after the chosen one.

    Counts: ``transfers``, the tokens sent; ``conflicts``, the cycles in which the first token of a FIFO was
    not sent although its output had a free slot, counted for each such FIFO.

    Source: iSLIP with one iteration, McKeown (IEEE/ACM Trans. Networking 7(2), 1999).

    Args:
        route: returns the output of a token.
        depth: capacity of a FIFO in tokens.

    Raises:
        ValueError: if ``depth`` is below 1; when built, if there are more than 32 inputs or outputs.
        SimulationError: during the run, if a route returns an output that does not exist.
    """

    SIGNALS = (*Crossbar.SIGNALS, Signal("held", 16))  # tokens in all FIFOs
    POLICY = None

    def __init__(self, name: str, route: Route, depth: int) -> None:
        super().__init__(name, route)
        if depth < 1:
            raise ValueError(f"{name}: depth must be at least 1, not {depth}")
        self.depth = depth
        self.held = 0

    def elaborate(self) -> None:
        """Fetch the channels and allocate the FIFOs.

        Raises:
            ValueError: if there are more than 32 inputs or outputs.
        """
        super().elaborate()
        if max(self.input_count, self.output_count) > MAX_PORTS:
            raise ValueError(f"{self.name}: it has up to {MAX_PORTS} inputs and outputs")
        pairs = self.input_count * self.output_count
        self.first_slots = array("q", bytes(8 * pairs))  # by FIFO: its first slot
        self.counts = array("q", bytes(8 * pairs))  # by FIFO: number of tokens
        slots = pairs * self.depth
        self.controls = array("q", bytes(8 * slots))
        self.coordinates = array("q", bytes(8 * slots))
        self.references = array("q", bytes(8 * slots))
        self.values = array("d", bytes(8 * slots))
        self.waiting_inputs = array(
            "q", bytes(8 * self.output_count)
        )  # by output: bit mask of inputs with a token
        self.granted_outputs = array(
            "q", bytes(8 * self.input_count)
        )  # by input: bit mask of outputs that grant it
        self.input_turns = array("q", bytes(8 * self.input_count))

    def tick(self, now: int) -> int:
        """Match inputs and outputs, move a token of each input into its FIFO, and send the matched tokens."""
        count = self._grant_all()  # first, so that a token of this cycle cannot be granted
        has_accepted = self._accept_tokens(now)
        sent_count = self._accept_all()
        self.transfers += sent_count
        if has_accepted or sent_count > 0:
            return self.busy(now + 1)
        return self.idle() if count == 0 else self._wait_for_space(count)

    def _grant_all(self) -> int:  # C: inline
        """Let each output with a free slot grant an input; return the number of requested outputs."""
        count = 0  # C: long
        for output in range(self.output_count):
            inputs = self.waiting_inputs[output]
            if inputs:
                self.requested[count] = output
                count += 1
                sink = self.outputs[output]
                if sink.can_push():
                    self.granted_outputs[_next_in_turn(inputs, self.turns[output])] |= ONE << output
                    self.conflicts += raw_words.ones(inputs)  # undone for tokens that are sent
        return count

    def _accept_tokens(self, now: int) -> bool:  # C: inline
        """Move a token of each input into its FIFO, unless that is full; return whether there was one."""
        has_accepted = False
        for index in range(self.input_count):
            if self.seen_from[index] <= now:
                source = self.inputs[index]
                if self.goals[index] < 0:
                    self.goals[index] = self._goal(source)
                if self.counts[index * self.output_count + self.goals[index]] < self.depth:
                    self._store(index, self.goals[index], source)
                    has_accepted = True
        return has_accepted

    def _store(self, index: int, output: int, source: Channel) -> None:  # C: inline
        """Move the head of an input to the end of the FIFO for its output."""
        pair = index * self.output_count + output
        slot = self.first_slots[pair] + self.counts[pair]  # C: long
        # The slots of a FIFO are consecutive; its first slot is counted from their begin
        slot += pair * self.depth - (self.depth if slot >= self.depth else 0)
        self.controls[slot] = source.control()
        self.coordinates[slot] = source.coordinate()
        self.references[slot] = source.reference()
        self.values[slot] = source.value()
        source.pop()
        self.goals[index] = -1
        self.counts[pair] += 1
        self.waiting_inputs[output] |= ONE << index
        self.held += 1

    def _accept_all(self) -> int:  # C: inline
        """Send a token from each input with a grant; return the number of tokens sent."""
        sent_count = 0  # C: long
        for index in range(self.input_count):
            if self.granted_outputs[index]:
                output = _next_in_turn(self.granted_outputs[index], self.input_turns[index])
                self.granted_outputs[index] = 0
                self._send(index, output)
                self.turns[output] = index + 1
                self.input_turns[index] = output + 1
                sent_count += 1
        self.conflicts -= sent_count
        return sent_count

    def _send(self, index: int, output: int) -> None:  # C: inline
        """Send the first token of a FIFO."""
        pair = index * self.output_count + output
        slot = pair * self.depth + self.first_slots[pair]
        sink = self.outputs[output]
        sink.push(self.controls[slot], self.coordinates[slot], self.references[slot], self.values[slot])
        self.first_slots[pair] = self.first_slots[pair] + 1 if self.first_slots[pair] + 1 < self.depth else 0
        self.counts[pair] -= 1
        if self.counts[pair] == 0:
            self.waiting_inputs[output] &= ~(ONE << index)
        self.held -= 1


def _next_in_turn(flags: int, turn: int) -> int:  # C: cdef, noexcept, inline
    """Return the lowest set bit from bit ``turn`` on; if there is none, the lowest set bit of all."""
    at_or_after_turn = flags >> turn << turn
    return raw_words.lowest_bit(at_or_after_turn or flags)
