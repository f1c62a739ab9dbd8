# cython: infer_types=True
"""Intersection and union: joiners that select which coordinates of several operands leave."""

from __future__ import annotations

from array import array

from fiberscope.hw.streams.heads import DONE_KEY, EMPTY_KEY, NOTHING, STOP_KEY
from fiberscope.hw.streams.joiner import Joiner
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import NO_QUIRKS, Q2, Q8, Q9, Q11
from fiberscope.hw.streams.tokens import EMPTY, SKIP_CRD, STOP
from fiberscope.sim.component import Port


class Intersect(Joiner):
    """Lets through the coordinates that all operands have.

    Interface: that of ``Joiner``. The outputs ``out_skip0`` and so on can be connected to the ``in_skip``
    of the operands' scanners; each has at most one consumer. An operand with a head below the largest head
    receives the largest head on its skip output: a coordinate below which its elements can be skipped, or the
    stop of its fiber. Each head is sent as a skip only once. The common stop of a fiber is sent to every
    operand that has not received a stop for the fiber. No done leaves on the skip outputs.

    Timing: if all heads are equal, they leave. Otherwise the heads below the largest are dropped; a stop is
    larger than any coordinate. Two fibers A and B therefore take |A union B| + 1 cycles. A skip leaves in
    the cycle in which a head of its operand is dropped, or in which the common stop leaves. A full skip
    channel does not stall the block: a coordinate for it is lost. A stop waits, and leaves as S0 in a later
    comparison. A stop that still waits at done is lost.

    Quirks: Q2, Q11, see ``Joiner``. Q8: an N among coordinates leaves as N, and the heads of all operands
    are dropped with it.

    Counts: ``matches``; ``dropped`` heads; ``longest_run`` of successive comparisons that only dropped
    heads. The intersection rate is the number of matches per comparison.

    Source: SAM (ASPLOS 2023), Definition 3.2, and Section 4.2 for skips. The public simulator has no joiner
    for more than two operands; here the rule is the same for any number.

    Args:
        name, ways, quirks: see ``Joiner``.

    Raises:
        ValueError, SimulationError: see ``Joiner``.
    """

    COUNTERS = ("matches", "dropped", "longest_run")

    def __init__(self, name: str, ways: int = 2, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, ways, quirks)
        self.matches = 0
        self.dropped = 0
        self.current_run = 0  # number of successive comparisons so far that only dropped heads
        self.longest_run = 0
        self.is_new = bytearray(
            [0 if quirks & Q2 else 1] * ways
        )  # whether the head has not been sent as a skip
        self.knows_end = bytearray(ways)  # whether the stop of its fiber has been sent to it as a skip
        self.owed_stops = array("q", bytes(8 * ways))  # stops that a skip output had no space for
        self.out_skips: list[OutputStream] = []
        self.owes_stops = False

    def own_ports(self) -> tuple[Port, ...]:  # C: def
        """Return the ports of a joiner, and a skip output for each operand."""
        skips = (output_stream(f"out_skip{operand}", SKIP_CRD) for operand in range(self.ways))
        return (*super().own_ports(), *skips)

    def elaborate(self) -> None:
        """Look up the streams of the ports; ``streams`` excludes skips, which get no done and never stall."""
        super().elaborate()
        self.out_skips = self.streams[1 + self.ways :]
        del self.streams[1 + self.ways :]
        self.find_bounds()

    def accepts_empty(self) -> bool:
        """Return whether N may stand among coordinates: only with Q8."""
        return bool(self.quirks & Q8)

    def ends_alone(self) -> bool:
        """Return whether one operand is at its end, which is enough."""
        return self.highest() == DONE_KEY

    def join(self, now: int) -> int:
        """Send the heads if they are equal, or drop the heads below the largest."""
        if self.owes_stops:
            self._send_owed_stops()
        highest, lowest = self.highest(), self.lowest()
        # N is above all coordinates and below all stops: it is the largest head only if no fiber has ended
        if highest == EMPTY_KEY:
            return self._join_empty(now)
        if highest == lowest:
            return self._match(highest, now)
        # If all operands had ended, ``_match`` would have sent done
        if highest == DONE_KEY:
            self.refuse(now, "an operand ends before the others")
        self.check_stops(lowest, now)
        return self._drop(self._leader(highest), now)

    def _join_empty(self, now: int) -> int:
        """Send an N that is among the heads, and drop all heads."""
        self.send_control(EMPTY, 0)
        self._pop_all(now)
        return self.busy(now + 1)

    def _pop_all(self, now: int) -> None:
        """Pop the heads of all operands; none of the next heads has been sent as a skip."""
        self.advance_all(now)
        for operand in range(self.ways):
            self.is_new[operand] = 1

    def _match(self, key: int, now: int) -> int:
        """Send the head that all operands have, and pop it; with Q2, the first call only loads the heads."""
        if key == DONE_KEY:
            return self.send_done(now)
        if key != NOTHING:
            self.send_equal(key)
            self.current_run = 0
            if key >= STOP_KEY:
                self._skip_to_the_end(key)
            else:
                self.matches += 1
        self._pop_all(now)
        return self.busy(now + 1)

    def _skip_to_the_end(self, key: int) -> None:
        """Send the common stop as a skip to all operands that have not received it."""
        for operand in range(self.ways):
            if not self.knows_end[operand]:
                self._skip(operand, key)
            self.knows_end[operand] = 0

    def _leader(self, highest: int) -> int:
        """Return the operand with the largest head; with Q11, the first operand with a stop goes before."""
        for operand in range(self.ways):
            key = self.keys[operand]
            if key == highest or (key >= STOP_KEY and self.quirks & Q11):
                return operand
        raise AssertionError("no head is the largest")

    def _drop(self, leader: int, now: int) -> int:
        """Drop the heads that are smaller than the leader's; with Q11, all that differ from it."""
        largest_key = self.keys[leader]
        is_new, self.is_new[leader] = self.is_new[leader], 0  # C: is_new=bint
        for operand in range(self.ways):
            key = self.keys[operand]
            # A smaller stop waits; ``check_stops`` refuses it once all heads are stops
            if key != largest_key and (key < STOP_KEY or self.quirks & Q11):
                if key == EMPTY_KEY:
                    self.refuse(now, "N meets a stop")
                # After the stop of the fiber, the operand needs no further skip for this fiber
                if is_new and not self.knows_end[operand]:
                    self._skip(operand, largest_key)
                    self.knows_end[operand] = largest_key >= STOP_KEY
                self.advance(operand, now)
                self.is_new[operand] = 1
                self.dropped += 1
        self.current_run += 1
        self.longest_run = max(self.longest_run, self.current_run)
        return self.busy(now + 1)

    def _skip(self, operand: int, key: int) -> None:
        """Send an operand a skip: the coordinate or the stop up to which nothing more of it is needed.

        If the skip output has no free slot, a coordinate is lost and a stop is owed.
        """
        stream: OutputStream = self.out_skips[operand]
        # A skip must not overtake a stop that is owed
        if self.owed_stops[operand] == 0 and stream.first_full() is None:
            self.push_head(stream, key)
        elif key >= STOP_KEY:
            self.owed_stops[operand] += 1
            self.owes_stops = True

    def _send_owed_stops(self) -> None:
        """Send one waiting stop on each skip output that has a free slot again."""
        self.owes_stops = False
        for operand in range(self.ways):
            stream: OutputStream = self.out_skips[operand]
            if self.owed_stops[operand] and stream.first_full() is None:
                stream.push(STOP)
                self.owed_stops[operand] -= 1
            if self.owed_stops[operand]:
                self.owes_stops = True

    def counters(self) -> dict[str, int]:
        """Return the counters of the block, and the tokens of each output by kind, skips included."""
        counts = super().counters()
        for stream in self.out_skips:
            counts |= stream.counters()
        return counts


class Union(Joiner):
    """Lets through the coordinates that any operand has.

    Interface: that of ``Joiner``. For an operand without the coordinate, an N leaves in place of its
    reference.

    Timing: the smallest head leaves, and all heads that are equal to it are popped. A stop is larger than
    any coordinate. A union therefore takes one cycle for every token that leaves.

    Quirks: Q2, Q11, see ``Joiner``; of stops that differ, the last operand's leaves first. Q9: an N among
    coordinates is larger than any coordinate, and leaves as an additional token.

    Counts: ``common``, the number of coordinates that all operands have; ``partial``, the number of others.

    Source: SAM (ASPLOS 2023), Definition 3.3. The public simulator has no joiner for more than two
    operands; here the rule is the same for any number.

    Args:
        name, ways, quirks: see ``Joiner``.

    Raises:
        ValueError, SimulationError: see ``Joiner``.
    """

    COUNTERS = ("common", "partial")

    def __init__(self, name: str, ways: int = 2, quirks: int = NO_QUIRKS) -> None:
        super().__init__(name, ways, quirks)
        self.common = 0
        self.partial = 0

    def accepts_empty(self) -> bool:
        """Return whether N may stand among coordinates: only with Q9."""
        return bool(self.quirks & Q9)

    def ends_alone(self) -> bool:
        """Return whether all operands are at their end."""
        return self.lowest() == DONE_KEY

    def join(self, now: int) -> int:
        """Send the smallest head."""
        highest, lowest = self.highest(), self.lowest()
        if highest == lowest:
            return self._send_all(lowest, now)
        if highest == DONE_KEY:
            self.refuse(now, "an operand ends before the others")
        self.check_stops(lowest, now)
        # Heads that are all stops get here only with Q11
        self._send_smallest(self.keys[self.ways - 1] if lowest >= STOP_KEY else lowest, now)
        return self.busy(now + 1)

    def _send_all(self, key: int, now: int) -> int:
        """Send the head that all operands have, and pop it; with Q2, the first call only loads the heads."""
        if key == DONE_KEY:
            return self.send_done(now)
        if key != NOTHING:
            self.send_equal(key)
            self.common += key < EMPTY_KEY
        self.advance_all(now)
        return self.busy(now + 1)

    def _send_smallest(self, key: int, now: int) -> None:
        """Send this head with the references of the operands that have it, and pop it from them."""
        self.push_head(self.out_crd, key)
        for operand in range(self.ways):
            if self.keys[operand] == key:
                self.send_reference(operand)
                self.advance(operand, now)
            else:
                stream: OutputStream = self.out_refs[operand]
                stream.push(EMPTY)
        # Neither an N nor a stop counts as a coordinate
        self.partial += key < EMPTY_KEY
