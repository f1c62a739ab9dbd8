# cython: infer_types=True
"""Intersect and union: which coordinates of several operands go on."""

from __future__ import annotations

from array import array

from fiberscope.hw.streams.heads import DONE_KEY, EMPTY_KEY, NOTHING, STOP_KEY
from fiberscope.hw.streams.joiner import Joiner
from fiberscope.hw.streams.output import OutputStream
from fiberscope.hw.streams.ports import output_stream
from fiberscope.hw.streams.quirks import CLEAN, Q2, Q8, Q9, Q11
from fiberscope.hw.streams.tokens import EMPTY, SKIP_CRD, STOP
from fiberscope.sim.component import Port


class Intersect(Joiner):
    """Lets through the coordinates that all operands have.

    Interface: that of ``Joiner``. ``out_skip0`` and so on may be led to the ``in_skip`` of the operands'
    scanners; each has at most one consumer. An operand that is behind is told on it, if that is news, the
    coordinate up to which nothing is wanted of it, or the stop of the fiber of which nothing more is.

    Timing: heads that are equal leave; otherwise those that are behind the largest are dropped, a stop
    counting as larger than any coordinate. So the fibers A and B take |A or B| + 1 cycles. A skip leaves in
    the cycle in which the operand that it is for is dropped from; nothing stands still for it: where its
    channel is full, a coordinate is lost and a stop waits.

    Quirks: Q2, Q11, see ``Joiner``; Q8, an N among coordinates leaves as N, and all heads are dropped with
    it.

    Counts: ``matches``, ``dropped`` heads, ``longest_run`` of comparisons that only dropped; the rate of
    intersection is matches to comparisons.

    Source: SAM (ASPLOS 2023), Definition 3.2 and Section 4.2; for more than two operands, which the public
    simulator has no joiner for, the rule is the same.
    """

    COUNTERS = ("matches", "dropped", "longest_run")

    def __init__(self, name: str, ways: int = 2, quirks: int = CLEAN) -> None:
        super().__init__(name, ways, quirks)
        self.matches = 0
        self.dropped = 0
        self.run = 0  # comparisons since the last that only dropped
        self.longest_run = 0
        self.news = bytearray([0 if quirks & Q2 else 1] * ways)  # the head has not been told the others
        self.knows_end = bytearray(ways)  # it has been told the stop of its fiber
        self.owed = array("q", bytes(8 * ways))  # stops that a skip output had no space for
        self.out_skips: list[OutputStream] = []
        self.owes_any = False

    def own_ports(self) -> tuple[Port, ...]:  # C: def
        """With a skip for each operand."""
        skips = (output_stream(f"out_skip{way}", SKIP_CRD) for way in range(self.ways))
        return (*super().own_ports(), *skips)

    def elaborate(self) -> None:
        """Fetch the streams; the skips are none for which the block stands still."""
        super().elaborate()
        self.out_skips = self.streams[1 + self.ways :]
        del self.streams[1 + self.ways :]

    def accepts_empty(self) -> bool:
        """Only with the quirk."""
        return bool(self.quirks & Q8)

    def ends_alone(self) -> bool:
        """One operand at its end is enough."""
        return self.highest() == DONE_KEY

    def join(self, now: int) -> int:
        """Let equal heads through, or drop those that are behind."""
        if self.owes_any:
            self._send_owed_stops()
        highest, lowest = self.highest(), self.lowest()
        if highest == EMPTY_KEY:
            return self._join_empty(now)
        if highest == lowest:
            return self._match(highest, now)
        if highest == DONE_KEY:
            self.refuse(now, "an operand ends before the others")
        self.check_stops(lowest, now)
        return self._drop(self._leader(highest), now)

    def _join_empty(self, now: int) -> int:
        """An N is among the heads, and no stop: it leaves, and all heads go."""
        self.send_control(EMPTY, 0)
        self._take_all(now)
        return self.busy(now + 1)

    def _take_all(self, now: int) -> None:
        self.advance_all(now)
        for way in range(self.ways):
            self.news[way] = 1

    def _match(self, key: int, now: int) -> int:
        if key == DONE_KEY:
            return self.send_done(now)
        if key != NOTHING:
            self.send_equal(key)
            self.run = 0
            if key >= STOP_KEY:
                self._skip_to_the_end(key)
            else:
                self.matches += 1
        self._take_all(now)
        return self.busy(now + 1)

    def _skip_to_the_end(self, key: int) -> None:
        """The fibers have ended together: tell all that have not been told."""
        for way in range(self.ways):
            if not self.knows_end[way]:
                self._skip(way, key)
            self.knows_end[way] = 0

    def _leader(self, highest: int) -> int:
        """Who is furthest; with the quirk, of stops that differ the first."""
        for way in range(self.ways):
            key = self.keys[way]
            if key == highest or (key >= STOP_KEY and self.quirks & Q11):
                return way
        raise AssertionError("no head is the largest")

    def _drop(self, leader: int, now: int) -> int:
        """Drop the heads behind the leader's; with the quirk, all that differ from it."""
        ahead = self.keys[leader]
        is_new, self.news[leader] = self.news[leader], 0  # C: is_new=bint
        for way in range(self.ways):
            key = self.keys[way]
            if key != ahead and (key < STOP_KEY or self.quirks & Q11):
                if key == EMPTY_KEY:
                    self.refuse(now, "N meets a stop")
                if is_new and not self.knows_end[way]:
                    self._skip(way, ahead)
                    self.knows_end[way] = ahead >= STOP_KEY
                self.advance(way, now)
                self.news[way] = 1
                self.dropped += 1
        self.run += 1
        self.longest_run = max(self.longest_run, self.run)
        return self.busy(now + 1)

    def _skip(self, way: int, key: int) -> None:
        """Tell an operand what is no longer wanted of it."""
        stream: OutputStream = self.out_skips[way]
        if self.owed[way] == 0 and stream.first_full() is None:
            self.push_head(stream, key)
        elif key >= STOP_KEY:
            self.owed[way] += 1
            self.owes_any = True

    def _send_owed_stops(self) -> None:
        self.owes_any = False
        for way in range(self.ways):
            stream: OutputStream = self.out_skips[way]
            if self.owed[way] and stream.first_full() is None:
                stream.push(STOP)
                self.owed[way] -= 1
            if self.owed[way]:
                self.owes_any = True

    def counters(self) -> dict[str, int]:
        """Return the counters of the block, and the tokens of each output by kind, skips included."""
        counts = super().counters()
        for stream in self.out_skips:
            counts |= stream.counters()
        return counts


class Union(Joiner):
    """Lets through the coordinates that any operand has.

    Interface: that of ``Joiner``. For an operand that has not the coordinate an N leaves in place of its
    reference.

    Timing: the smallest head leaves, a stop counting as larger than any coordinate, and all that are equal to
    it are taken. So it takes a cycle for every token that leaves.

    Quirks: Q2, Q11, see ``Joiner``: of stops that differ the last operand's leaves first; Q9, an N among
    coordinates counts as larger than they and leaves as one more.

    Counts: ``common`` coordinates that all operands have, ``partial`` ones.

    Source: SAM (ASPLOS 2023), Definition 3.3; for more than two operands, which the public simulator has no
    joiner for, the rule is the same.
    """

    COUNTERS = ("common", "partial")

    def __init__(self, name: str, ways: int = 2, quirks: int = CLEAN) -> None:
        super().__init__(name, ways, quirks)
        self.common = 0
        self.partial = 0

    def accepts_empty(self) -> bool:
        """Only with the quirk."""
        return bool(self.quirks & Q9)

    def ends_alone(self) -> bool:
        """All operands must be at their end."""
        return self.lowest() == DONE_KEY

    def join(self, now: int) -> int:
        """Let the smallest head through."""
        highest, lowest = self.highest(), self.lowest()
        if highest == lowest:
            return self._send_all(lowest, now)
        if highest == DONE_KEY:
            self.refuse(now, "an operand ends before the others")
        self.check_stops(lowest, now)
        self._send_smallest(self.keys[self.ways - 1] if lowest >= STOP_KEY else lowest, now)
        return self.busy(now + 1)

    def _send_all(self, key: int, now: int) -> int:
        if key == DONE_KEY:
            return self.send_done(now)
        if key != NOTHING:
            self.send_equal(key)
            self.common += key < EMPTY_KEY
        self.advance_all(now)
        return self.busy(now + 1)

    def _send_smallest(self, key: int, now: int) -> None:
        """Send this head with the references of those that have it, and take it from them."""
        self.push_head(self.out_crd, key)
        for way in range(self.ways):
            if self.keys[way] == key:
                self.send_reference(way)
                self.advance(way, now)
            else:
                stream: OutputStream = self.out_refs[way]
                stream.push(EMPTY)
        self.partial += key < EMPTY_KEY
