# cython: infer_types=True
"""The loops of a nest: each goes through the fibers of the tensors that have its rank, and runs its body.

A loop's body is the loop inside it; that of the innermost computes. Which fibers are gone through together,
and how, is the kind of the loop: one fiber, the intersection of two, a leader whose coordinates are looked
up in others; ``coiteration`` has those of any number of fibers.
"""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.models.trace.body import Body
from fiberscope.models.trace.codes import ENDED, NO_WINDOW
from fiberscope.models.trace.cursor import Cursor, NestState
from fiberscope.models.trace.output import OutputRank
from fiberscope.sim.interrupt import give_way

BODIES_PER_LOOK = 1 << 10  # of a loop, between two looks at Ctrl-C


class Place:  # C: final
    """A rank of the output that a loop's body opens at a coordinate of its own.

    Args:
        rank: of the output.
        index: knows the coordinate.
        above: the output's rank above it; None: it is the first.
    """

    def __init__(self, rank: OutputRank, index: Cursor, above: OutputRank | None) -> None:
        self.rank, self.index, self.above = rank, index, above


class Loop:
    """A loop over one rank; subclasses say over which coordinates.

    Attributes: ``steps`` counts what a two-finger intersection would do, ``skips`` one that skips ahead.

    Args:
        depth: 0 for the outermost.
        cursors: the ranks that are gone through.
        state: where the nest is.
    """

    def __init__(self, depth: int, cursors: Sequence[Cursor], state: NestState) -> None:
        self.depth = depth
        self.cursors = list(cursors)
        self.state = state
        self.inner: Loop | None = None  # C: public
        self.body: Body | None = None  # C: public
        self.output: OutputRank | None = None  # C: public
        self.above: OutputRank | None = None  # C: public; the output's rank above that
        self.lookups: list[Cursor] = []  # C: public; ranks whose coordinate is known in the body
        # For a flattened rank: the shapes of its lower parts, the lowest last
        self.parts: list[int] = []  # C: public
        self.part_places: list[int] = []  # C: public; where in the point the coordinates of all parts go
        self.placed: list[Place] = []  # C: public; the output's ranks that the body opens
        self.piece = 0  # C: public; size of the pieces that a loop over partitions makes; 0: it makes none
        self.outer_piece = NO_WINDOW  # C: public; the loop over pieces that this loop's pieces lie in
        self.marks_body = False  # C: public
        self.intersects = False  # C: public
        self.steps = self.skips = self.led = 0

    def run(self) -> int:
        """Go through the rank."""
        for item in self.cursors:
            cursor: Cursor = item
            cursor.begin()
        if self.output is None:
            self.iterate()
        else:
            self.output.begin(0 if self.above is None else self.above.child)
            self.iterate()
            self.output.finish()
        return 0

    def iterate(self) -> int:
        """Run the body at every coordinate."""
        raise NotImplementedError

    def visit(self, coordinate: int) -> int:  # C: cdef
        """Run the body at a coordinate; the cursors are where it is."""
        self.state.serials[self.depth + 1] += 1
        if self.state.serials[self.depth + 1] % BODIES_PER_LOOK == 0:
            give_way()
        self.state.point[self.depth] = coordinate
        if self.parts:
            self._unravel(coordinate)
        if self.piece:
            self._begin_piece(coordinate)
        for item in self.lookups:
            cursor: Cursor = item
            cursor.look_up(cursor.index())
            cursor.use_looked_up()
        if self.marks_body:
            self.state.last_body[:] = self.state.serials
        if self.output is None:
            return self._open(0)
        self.output.open(coordinate)
        self._open(0)
        return self.output.close()

    def _unravel(self, coordinate: int) -> None:  # C: noexcept
        """Take a flattened coordinate apart."""
        place = len(self.parts)  # C: long
        while place > 0:
            size, part = self.parts[place - 1], self.part_places[place]
            self.state.point[part] = coordinate % size
            coordinate //= size
            place -= 1
        part = self.part_places[0]
        self.state.point[part] = coordinate

    def _begin_piece(self, coordinate: int) -> None:  # C: noexcept
        """The inner loops keep to a range of this many coordinates."""
        begin, end = coordinate, coordinate + self.piece  # C: begin=long, end=long
        if self.outer_piece != NO_WINDOW:
            begin = max(begin, self.state.begins[self.outer_piece])
            end = min(end, self.state.ends[self.outer_piece])
        self.state.begins[self.depth] = begin
        self.state.ends[self.depth] = end

    def _open(self, place: int) -> int:
        """Open the output's ranks that are no loops, one below another, and run what is inside."""
        if place == len(self.placed):
            return self._descend()
        placed: Place = self.placed[place]
        rank = placed.rank
        coordinate = placed.index.index()
        if coordinate < 0 or coordinate >= rank.shape:
            return 0
        rank.begin(0 if placed.above is None else placed.above.child)
        rank.open(coordinate)
        self._open(place + 1)
        rank.close()
        return rank.finish()

    def _descend(self) -> int:
        if self.inner is not None:
            return self.inner.run()
        assert self.body is not None
        return self.body.run()


class Scan(Loop):
    """Goes through one fiber."""

    def iterate(self) -> int:
        """Run the body at every element."""
        cursor: Cursor = self.cursors[0]
        while cursor.at != ENDED:
            cursor.look()
            cursor.use()
            cursor.take()
            self.visit(cursor.at)
            cursor.advance()
        return 0


class Intersection(Loop):
    """Goes through two fibers and runs the body where both have an element.

    Two fingers look at an element of each and move the one behind. Every element looked at is told, and the
    one under the other finger when a fiber comes to its end.
    """

    def iterate(self) -> int:
        """Run the body where both are."""
        first: Cursor = self.cursors[0]
        second: Cursor = self.cursors[1]
        if first.is_plain() and second.is_plain():
            return self._leap(first, second)
        behind = 0  # which side moved last: 1 or 2
        while first.at < ENDED and second.at < ENDED:
            self.steps += 1
            if first.at == second.at:
                self.skips += 1
                behind = 0
                self._meet(first, second)
                first.advance()
                second.advance()
            elif first.at < second.at:
                self.skips += behind != 1
                behind = 1
                first.look()
                first.advance()
            else:
                self.skips += behind != 2
                behind = 2
                second.look()
                second.advance()
        if first.at != ENDED:
            first.look()
        if second.at != ENDED:
            second.look()
        return 0

    def _leap(self, first: Cursor, second: Cursor) -> int:
        """The same where nobody is told: the fingers leap, the steps between are counted."""
        here, there = first.head, second.head  # C: there=long, here=long
        while here < first.high and there < second.high:
            coordinate, theirs = (
                first.coordinates[here],
                second.coordinates[there],
            )  # C: coordinate=long, theirs=long
            self.skips += 1
            if coordinate == theirs:
                self.steps += 1
                first.enter(here)
                second.enter(there)
                self.visit(coordinate)
                here += 1
                there += 1
            elif coordinate < theirs:
                place = first.seek(theirs, here)
                self.steps += place - here
                here = place
            else:
                place = second.seek(coordinate, there)
                self.steps += place - there
                there = place
        return 0

    def _meet(self, first: Cursor, second: Cursor) -> int:
        first.look()
        second.look()
        first.use()
        second.use()
        first.take()
        second.take()
        return self.visit(first.at)


class LeaderFollower(Loop):
    """Goes through the first fiber, and looks its coordinates up in the others."""

    def iterate(self) -> int:
        """Run the body where all are."""
        leader: Cursor = self.cursors[0]
        while leader.at != ENDED:
            self.led += 1
            leader.look()
            leader.take()
            if self._find_all(leader.at):
                leader.use()
                self._use_all()
                self.visit(leader.at)
            leader.advance()
        return 0

    def _find_all(self, coordinate: int) -> bool:
        all_present = True
        for place in range(1, len(self.cursors)):
            cursor: Cursor = self.cursors[place]
            if not cursor.look_up(cursor.scale * coordinate + cursor.index()) and not cursor.whole:
                all_present = False
        return all_present

    def _use_all(self) -> int:
        for place in range(1, len(self.cursors)):
            cursor: Cursor = self.cursors[place]
            cursor.use_looked_up()
        return 0
