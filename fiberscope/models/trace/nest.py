# cython: infer_types=True
"""Loops of a nest: each iterates over the fibers with its rank, and runs its body.

A cursor is a rank of an input tensor, with its current fiber and the next element of the fiber (``cursor``).
The "head" of a cursor is this next element; at the end of the fiber its coordinate is ``AT_END``.

A loop's body is the inner loop; the body of the innermost loop computes. The class of a loop says how its
fibers are co-iterated: one fiber, an intersection of two fibers, or a leader with lookups in the other
fibers. The module ``coiteration`` has loops over any number of fibers.
"""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.models.trace.body import Body
from fiberscope.models.trace.codes import AT_END, NO_WINDOW
from fiberscope.models.trace.cursor import Cursor, NestState
from fiberscope.models.trace.output import OutputRank
from fiberscope.models.trace.recorder import Recorder
from fiberscope.sim.interrupt import give_way

BODIES_PER_CHECK = 1 << 10  # bodies of a loop between two checks for Ctrl-C


class ComputedRank:  # C: final
    """A rank of the output that a loop's body opens at a computed coordinate.

    Args:
        rank: the rank of the output.
        index: computes the coordinate.
        outer_rank: the output's rank above; None for the first rank.
    """

    def __init__(self, rank: OutputRank, index: Cursor, outer_rank: OutputRank | None) -> None:
        self.rank, self.index, self.outer_rank = rank, index, outer_rank


class Loop:
    """A loop over one rank; subclasses determine the coordinates.

    Attributes: ``steps`` counts the steps of a two-finger intersection, ``skips`` those of a skip-ahead
    intersection, and ``leader_steps`` those of a leader-follower intersection. ``marks_body`` says whether
    each body notes the serial numbers in ``NestState.last_body``, ``intersects`` whether the loop joins
    several fibers. ``build`` sets the attributes after the constructor, and before the run.

    Args:
        depth: 0 for the outermost loop.
        cursors: the ranks over which the loop iterates.
        state: position of the nest.
    """

    def __init__(self, depth: int, cursors: Sequence[Cursor], state: NestState) -> None:
        self.depth = depth
        self.cursors = list(cursors)
        self.state = state
        self.inner: Loop | None = None  # C: public
        self.body: Body | None = None  # C: public
        self.output: OutputRank | None = None  # C: public
        self.outer_rank: OutputRank | None = None  # C: public; the rank above ``output``
        self.lookups: list[Cursor] = []  # C: public; ranks whose coordinate is known in the body
        # For a flattened rank: the shapes of its lower parts, the lowest last
        self.component_shapes: list[int] = []  # C: public
        # Indices of the coordinates of all components in the point
        self.component_indices: list[int] = []  # C: public
        self.computed_ranks: list[ComputedRank] = []  # C: public; the output's ranks that the body opens
        self.piece_size = 0  # C: public; coordinates of a piece, for a loop over pieces by shape; else 0
        self.outer_loop = NO_WINDOW  # C: public; the loop over pieces that encloses this loop's pieces
        self.marks_body = False  # C: public
        self.body_recorders: list[Recorder] = []  # C: public; record each body
        self.intersects = False  # C: public
        self.steps = self.skips = self.leader_steps = 0

    def run(self) -> int:
        """Iterate over the rank, and open and close the fiber of the output."""
        for item in self.cursors:
            cursor: Cursor = item
            cursor.begin()
        if self.output is None:
            self.iterate()
        else:
            self.output.begin(0 if self.outer_rank is None else self.outer_rank.child)
            self.iterate()
            self.output.finish()
        return 0

    def iterate(self) -> int:
        """Run the body at every coordinate; ``run`` has set the cursors to their first elements."""
        raise NotImplementedError

    def visit(self, coordinate: int) -> int:  # C: cdef
        """Run the body at a coordinate, which the cursors have reached."""
        # first the serial number: recorders that are called below read it as their group
        self.state.serials[self.depth + 1] += 1
        if self.state.serials[self.depth + 1] % BODIES_PER_CHECK == 0:
            give_way()
        self.state.point[self.depth] = coordinate
        if self.component_shapes:
            self._unravel(coordinate)
        if self.piece_size:
            self._set_piece(coordinate)
        for item in self.lookups:
            cursor: Cursor = item
            cursor.look_up(cursor.index())
            cursor.record_lookup_payload()
        if self.marks_body:
            self.state.last_body[:] = self.state.serials
        for recorder in self.body_recorders:  # C: Recorder
            recorder.touch(0, 0, False, self.state.serials[recorder.evict_level])
        if self.output is None:
            return self._open(0)
        self.output.open(coordinate)
        self._open(0)
        return self.output.close()

    def _unravel(self, coordinate: int) -> None:  # C: noexcept
        """Split a flattened coordinate into the coordinates of its parts, the lowest part first."""
        number = len(self.component_shapes)  # C: long
        while number > 0:
            size, component = self.component_shapes[number - 1], self.component_indices[number]
            self.state.point[component] = coordinate % size
            coordinate //= size
            number -= 1
        component = self.component_indices[0]
        self.state.point[component] = coordinate

    def _set_piece(self, coordinate: int) -> None:  # C: noexcept
        """Set the bounds of the piece for the inner loops."""
        start, end = coordinate, coordinate + self.piece_size  # C: start=long, end=long
        # a piece may be cut by the piece of an outer loop
        if self.outer_loop != NO_WINDOW:
            start = max(start, self.state.piece_starts[self.outer_loop])
            end = min(end, self.state.piece_ends[self.outer_loop])
        self.state.piece_starts[self.depth] = start
        self.state.piece_ends[self.depth] = end

    def _open(self, number: int) -> int:
        """Open the output's ranks with computed coordinates from ``number`` on, and run the body inside."""
        if number == len(self.computed_ranks):
            return self._descend()
        computed: ComputedRank = self.computed_ranks[number]
        rank = computed.rank
        coordinate = computed.index.index()
        # an affine index can lie outside of the output: there is no element, and nothing is computed
        if coordinate < 0 or coordinate >= rank.shape:
            return 0
        rank.begin(0 if computed.outer_rank is None else computed.outer_rank.child)
        rank.open(coordinate)
        self._open(number + 1)
        rank.close()
        return rank.finish()

    def _descend(self) -> int:
        if self.inner is not None:
            return self.inner.run()
        assert self.body is not None
        return self.body.run()


class Scan(Loop):
    """A loop over one fiber."""

    def iterate(self) -> int:
        """Run the body at every element."""
        cursor: Cursor = self.cursors[0]
        while cursor.head_coordinate != AT_END:
            cursor.record_coordinate()
            cursor.record_payload()
            cursor.enter_head()
            self.visit(cursor.head_coordinate)
            cursor.advance()
        return 0


class Intersection(Loop):
    """A two-finger intersection of two fibers.

    Each finger reads the coordinate of an element, and the finger at the smaller coordinate advances. When
    one fiber ends, the coordinate at the other finger is read, too.
    """

    def iterate(self) -> int:
        """Run the body where both fibers have an element."""
        first: Cursor = self.cursors[0]
        second: Cursor = self.cursors[1]
        if first.is_plain() and second.is_plain():
            return self._intersect_unrecorded(first, second)
        mover = 0  # the finger that moved last: 1 or 2
        while first.head_coordinate < AT_END and second.head_coordinate < AT_END:
            self.steps += 1
            if first.head_coordinate == second.head_coordinate:
                self.skips += 1
                mover = 0
                self._match(first, second)
                first.advance()
                second.advance()
            elif first.head_coordinate < second.head_coordinate:
                self.skips += mover != 1
                mover = 1
                first.record_coordinate()
                first.advance()
            else:
                self.skips += mover != 2
                mover = 2
                second.record_coordinate()
                second.advance()
        if first.head_coordinate != AT_END:
            first.record_coordinate()
        if second.head_coordinate != AT_END:
            second.record_coordinate()
        return 0

    def _intersect_unrecorded(self, first: Cursor, second: Cursor) -> int:
        """Intersect without recorders: seek the next match, and count the steps in between.

        The counts are those of ``iterate``. The heads of the cursors stay where they were.
        """
        first_head, second_head = first.head, second.head  # C: first_head=long, second_head=long
        while first_head < first.high and second_head < second.high:
            coordinate, second_coordinate = (
                first.coordinates[first_head],
                second.coordinates[second_head],
            )  # C: coordinate=long, second_coordinate=long
            self.skips += 1
            if coordinate == second_coordinate:
                self.steps += 1
                first.enter(first_head)
                second.enter(second_head)
                self.visit(coordinate)
                first_head += 1
                second_head += 1
            elif coordinate < second_coordinate:
                element = first.seek(second_coordinate, first_head)
                # a two-finger intersection advances element by element, a skip-ahead intersection once
                self.steps += element - first_head
                first_head = element
            else:
                element = second.seek(coordinate, second_head)
                self.steps += element - second_head
                second_head = element
        return 0

    def _match(self, first: Cursor, second: Cursor) -> int:
        first.record_coordinate()
        second.record_coordinate()
        first.record_payload()
        second.record_payload()
        first.enter_head()
        second.enter_head()
        return self.visit(first.head_coordinate)


class LeaderFollower(Loop):
    """A leader-follower intersection: a loop over the first fiber, with lookups in the others.

    The body must need all tensors, since a coordinate without the leader is never visited.
    """

    def iterate(self) -> int:
        """Run the body where all fibers have an element."""
        leader: Cursor = self.cursors[0]
        while leader.head_coordinate != AT_END:
            self.leader_steps += 1
            leader.record_coordinate()
            leader.enter_head()
            if self._find_all(leader.head_coordinate):
                leader.record_payload()
                self._record_payloads()
                self.visit(leader.head_coordinate)
            leader.advance()
        return 0

    def _find_all(self, coordinate: int) -> bool:
        all_present = True  # look up all fibers, also after a miss: each lookup is recorded
        for number in range(1, len(self.cursors)):
            cursor: Cursor = self.cursors[number]
            # ``index`` has the terms of the outer loops; a dense rank has an element at every coordinate
            if not cursor.look_up(cursor.scale * coordinate + cursor.index()) and not cursor.is_dense:
                all_present = False
        return all_present

    def _record_payloads(self) -> int:
        for number in range(1, len(self.cursors)):
            cursor: Cursor = self.cursors[number]
            cursor.record_lookup_payload()
        return 0
