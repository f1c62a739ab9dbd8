# cython: infer_types=True
"""Loops that co-iterate over several fibers, and loops over the pieces of a partition by occupancy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fiberscope.models.trace.codes import BOTH, ENDED, NO_WINDOW
from fiberscope.models.trace.cursor import Cursor, NestState
from fiberscope.models.trace.nest import Loop


class Coiteration(Loop):
    """A loop over several fibers whose body runs where a condition on their presence holds.

    The loop visits the smallest coordinate of all cursors, until the condition cannot hold any more.

    Args:
        depth, cursors, state: see ``Loop``.
        condition: postfix expression of cursor numbers and the operators ``BOTH`` and ``EITHER``.
    """

    def __init__(
        self, depth: int, cursors: Sequence[Cursor], state: NestState, condition: Sequence[int]
    ) -> None:
        super().__init__(depth, cursors, state)
        self.condition = np.array(condition, np.int64)
        self.stack = np.zeros(len(condition) + 1, np.uint8)
        self.presence = np.zeros(len(cursors) + 1, np.uint8)

    def iterate(self) -> int:
        """Run the body at each coordinate at which the condition holds."""
        while self._can_hold():
            self.steps += 1
            coordinate = self._next_coordinate()
            self._find_present(coordinate)
            if self._holds():
                self._enter_all()
                self.visit(coordinate)
            self._advance_past(coordinate)
        for item in self.cursors:
            cursor: Cursor = item
            if cursor.head_coordinate != ENDED:
                cursor.record_coordinate()
        return 0

    def _can_hold(self) -> bool:  # C: noexcept
        """Return whether the condition can hold in the remaining elements."""
        for place in range(len(self.cursors)):
            cursor: Cursor = self.cursors[place]
            self.presence[place] = cursor.head_coordinate != ENDED
        return self._holds()

    def _next_coordinate(self) -> int:  # C: noexcept
        coordinate = ENDED  # C: long
        for item in self.cursors:
            cursor: Cursor = item
            coordinate = min(coordinate, cursor.head_coordinate)
        return coordinate

    def _find_present(self, coordinate: int) -> int:
        for place in range(len(self.cursors)):
            cursor: Cursor = self.cursors[place]
            self.presence[place] = cursor.head_coordinate == coordinate
            if self.presence[place]:
                cursor.record_coordinate()
        return 0

    def _holds(self) -> bool:  # C: noexcept
        """Return whether the condition holds for the presence flags in ``presence``."""
        height = 0  # C: long
        for item in range(len(self.condition)):
            code = self.condition[item]
            if code >= 0:
                self.stack[height] = self.presence[code]
                height += 1
                continue
            height -= 1
            left, right = self.stack[height - 1], self.stack[height]  # C: right=bint, left=bint
            self.stack[height - 1] = (left and right) if code == BOTH else (left or right)
        return bool(self.stack[0])

    def _enter_all(self) -> int:
        for place in range(len(self.cursors)):
            self._enter_or_leave(place)
        return 0

    def _enter_or_leave(self, place: int) -> int:
        """Enter a cursor's element, or mark the tensor as absent in the body."""
        cursor: Cursor = self.cursors[place]
        if self.presence[place]:
            cursor.record_payload()
            cursor.enter_head()
        else:
            cursor.leave()
        return 0

    def _advance_past(self, coordinate: int) -> None:  # C: noexcept
        for item in self.cursors:
            cursor: Cursor = item
            if cursor.head_coordinate == coordinate:
                cursor.advance()


class Pieces(Coiteration):
    """A loop over the pieces of a leader's fiber; the first cursor has the coordinates at which they begin.

    Tensors with the same partition have the same coordinates as the leader. In the other tensors, the
    ``followers``, the inner loops read the elements that lie in the piece.

    Args:
        depth, cursors, state, condition: see ``Coiteration``.
        followers: for each cursor whether its tensor is a follower: the cursor is then the partitioned rank.
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
        """Run the loop over pieces; followers keep their position."""
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
        if leader.head_coordinate == ENDED:
            return self._visit_piece(begin, end, ENDED)
        while leader.head_coordinate != ENDED:
            coordinate, leader_head = leader.head_coordinate, leader.head
            next_begin = (
                leader.coordinates[leader_head + 1] if leader_head + 1 < leader.high else end
            )  # C: long
            self._visit_piece(begin, next_begin, coordinate)
            begin = next_begin
            self._advance_past(coordinate)
        return 0

    def _visit_piece(self, begin: int, end: int, coordinate: int) -> int:
        """Run the body for a piece if the condition holds; without a leader a whole fiber is one piece."""
        has_leader = coordinate != ENDED
        self.state.begins[self.depth], self.state.ends[self.depth] = begin, end
        for place in range(len(self.cursors)):
            cursor: Cursor = self.cursors[place]
            if self.followers[place]:
                self.presence[place] = cursor.in_piece(begin, end)
            else:
                self.presence[place] = (
                    cursor.head_coordinate == (coordinate if has_leader else cursor.head_coordinate) < ENDED
                )
                if self.presence[place]:
                    cursor.record_coordinate()
        self.steps += 1
        if self._holds():
            self._enter_pieces()
            return self.visit(coordinate if has_leader else 0)
        return 0

    def _enter_pieces(self) -> int:
        for place in range(len(self.cursors)):
            if not self.followers[place]:
                self._enter_or_leave(place)
        return 0
