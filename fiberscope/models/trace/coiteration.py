# cython: infer_types=True
"""Loops over any number of fibers at once, and over pieces that are cut where one tensor is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fiberscope.models.trace.codes import BOTH, ENDED, NO_WINDOW
from fiberscope.models.trace.cursor import Cursor, NestState
from fiberscope.models.trace.nest import Loop


class Coiteration(Loop):
    """Goes through any number of fibers, and runs the body where a condition on their presence holds.

    The smallest coordinate at any head is looked at next, until the condition cannot hold any more.

    Args:
        condition: numbers of cursors, and after two of them (or two results) how they are combined.
    """

    def __init__(
        self, depth: int, cursors: Sequence[Cursor], state: NestState, condition: Sequence[int]
    ) -> None:
        super().__init__(depth, cursors, state)
        self.condition = np.array(condition, np.int64)
        self.stack = np.zeros(len(condition) + 1, np.uint8)
        self.here = np.zeros(len(cursors) + 1, np.uint8)

    def iterate(self) -> int:
        """Run the body where the condition holds."""
        while self._can_go_on():
            self.steps += 1
            coordinate = self._next_coordinate()
            self._look_at(coordinate)
            if self._holds():
                self._take_all()
                self.visit(coordinate)
            self._pass(coordinate)
        for item in self.cursors:
            cursor: Cursor = item
            if cursor.at != ENDED:
                cursor.look()
        return 0

    def _can_go_on(self) -> bool:  # C: noexcept
        """Return whether the condition could hold somewhere in what is left."""
        for place in range(len(self.cursors)):
            cursor: Cursor = self.cursors[place]
            self.here[place] = cursor.at != ENDED
        return self._holds()

    def _next_coordinate(self) -> int:  # C: noexcept
        coordinate = ENDED  # C: long
        for item in self.cursors:
            cursor: Cursor = item
            coordinate = min(coordinate, cursor.at)
        return coordinate

    def _look_at(self, coordinate: int) -> int:
        for place in range(len(self.cursors)):
            cursor: Cursor = self.cursors[place]
            self.here[place] = cursor.at == coordinate
            if self.here[place]:
                cursor.look()
        return 0

    def _holds(self) -> bool:  # C: noexcept
        """The condition, of what is in ``here``."""
        height = 0  # C: long
        for item in range(len(self.condition)):
            code = self.condition[item]
            if code >= 0:
                self.stack[height] = self.here[code]
                height += 1
                continue
            height -= 1
            left, right = self.stack[height - 1], self.stack[height]  # C: right=bint, left=bint
            self.stack[height - 1] = (left and right) if code == BOTH else (left or right)
        return bool(self.stack[0])

    def _take_all(self) -> int:
        for place in range(len(self.cursors)):
            self._take(place)
        return 0

    def _take(self, place: int) -> int:
        """The body has a cursor's element, or is told that there is none."""
        cursor: Cursor = self.cursors[place]
        if self.here[place]:
            cursor.use()
            cursor.take()
        else:
            cursor.leave()
        return 0

    def _pass(self, coordinate: int) -> None:  # C: noexcept
        for item in self.cursors:
            cursor: Cursor = item
            if cursor.at == coordinate:
                cursor.advance()


class Pieces(Coiteration):
    """Goes through the pieces of a leader's fiber; the first cursor holds where they begin.

    Others that were cut alike have the same coordinates; of those that were not, ``followers``, the inner
    loops take the part that lies in the piece.

    Args:
        followers: for each cursor whether it follows: it is then the rank that is cut.
    """

    def __init__(
        self,
        depth: int,
        cursors: Sequence[Cursor],
        state: NestState,
        condition: Sequence[int],
        followers: Sequence[bool],
    ) -> None:
        super().__init__(depth, cursors, state, condition)
        self.followers = np.array(followers, np.uint8)

    def run(self) -> int:
        """Go through the pieces; the ranks that follow begin where they are cut."""
        for place in range(len(self.cursors)):
            cursor: Cursor = self.cursors[place]
            if not self.followers[place]:
                cursor.begin()
        return self.iterate()

    def iterate(self) -> int:
        """Run the body for every piece in which the condition holds."""
        leader: Cursor = self.cursors[0]
        begin, end = 0, ENDED  # C: begin=long
        if self.outer_piece != NO_WINDOW:
            begin, end = self.state.begins[self.outer_piece], self.state.ends[self.outer_piece]
        if leader.at == ENDED:
            return self._visit_piece(begin, end, ENDED)
        while leader.at != ENDED:
            coordinate, leading = leader.at, leader.head
            following = leader.coordinates[leading + 1] if leading + 1 < leader.high else end  # C: long
            self._visit_piece(begin, following, coordinate)
            begin = following
            self._pass(coordinate)
        return 0

    def _visit_piece(self, begin: int, end: int, coordinate: int) -> int:
        """Visit a piece if anything is to be done there; without a leader all of each fiber is one."""
        led = coordinate != ENDED
        self.state.begins[self.depth], self.state.ends[self.depth] = begin, end
        for place in range(len(self.cursors)):
            cursor: Cursor = self.cursors[place]
            if self.followers[place]:
                self.here[place] = cursor.in_piece(begin, end)
            else:
                self.here[place] = cursor.at == (coordinate if led else cursor.at) < ENDED
                if self.here[place]:
                    cursor.look()
        self.steps += 1
        if self._holds():
            self._take_pieces()
            return self.visit(coordinate if led else 0)
        return 0

    def _take_pieces(self) -> int:
        for place in range(len(self.cursors)):
            if not self.followers[place]:
                self._take(place)
        return 0
