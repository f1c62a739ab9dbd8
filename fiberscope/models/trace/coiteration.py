# cython: infer_types=True
"""Loops that co-iterate over several fibers, and loops over the pieces of a partition by occupancy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fiberscope.models.trace.codes import AT_END, BOTH, NO_WINDOW
from fiberscope.models.trace.cursor import Cursor, NestState
from fiberscope.models.trace.nest import Loop


class Coiteration(Loop):
    """A loop over several fibers whose body runs where a condition on their presence holds.

    The loop visits the smallest coordinate of all cursors, until the condition cannot hold any more.

    Args:
        depth, cursors, state: see ``Loop``.
        condition: postfix expression of cursor numbers, ``BOTH`` and ``EITHER``.
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
        while self._can_hold():  # an intersection ends with its first fiber, a union with its last
            self.steps += 1
            coordinate = self._find_next_coordinate()
            self._find_present(coordinate)
            if self._condition_holds():
                self._enter_all()
                self.visit(coordinate)
            self._advance_past(coordinate)
        for item in self.cursors:
            cursor: Cursor = item
            if cursor.head_coordinate != AT_END:  # this head was read, too, before the loop could end
                cursor.record_coordinate()
        return 0

    def _can_hold(self) -> bool:  # C: noexcept
        """Return whether the condition can hold in the remaining elements."""
        # the best case: every fiber that has not ended has an element at one coordinate
        for number in range(len(self.cursors)):
            cursor: Cursor = self.cursors[number]
            self.presence[number] = cursor.head_coordinate != AT_END
        return self._condition_holds()

    def _find_next_coordinate(self) -> int:  # C: noexcept
        coordinate = AT_END  # C: long
        for item in self.cursors:
            cursor: Cursor = item
            coordinate = min(coordinate, cursor.head_coordinate)
        return coordinate

    def _find_present(self, coordinate: int) -> int:
        for number in range(len(self.cursors)):
            cursor: Cursor = self.cursors[number]
            self.presence[number] = cursor.head_coordinate == coordinate
            if self.presence[number]:
                cursor.record_coordinate()
        return 0

    def _condition_holds(self) -> bool:  # C: noexcept
        """Return whether the condition holds for the presence flags in ``presence``."""
        # evaluate the postfix condition: a cursor's number pushes its flag, a code joins the top two flags
        height = 0  # C: long
        for item in range(len(self.condition)):
            code = self.condition[item]
            if code >= 0:
                self.stack[height] = self.presence[code]
                height += 1
                continue
            height -= 1
            first, second = self.stack[height - 1], self.stack[height]  # C: second=bint, first=bint
            self.stack[height - 1] = (first and second) if code == BOTH else (first or second)
        return bool(self.stack[0])

    def _enter_all(self) -> int:
        for number in range(len(self.cursors)):
            self._enter_or_leave(number)
        return 0

    def _enter_or_leave(self, number: int) -> int:
        """Enter a cursor's element, or mark the tensor as absent in the body."""
        cursor: Cursor = self.cursors[number]
        if self.presence[number]:
            cursor.record_payload()
            cursor.enter_head()
        else:
            cursor.mark_absent()
        return 0

    def _advance_past(self, coordinate: int) -> None:  # C: noexcept
        for item in self.cursors:
            cursor: Cursor = item
            if cursor.head_coordinate == coordinate:
                cursor.advance()


class PieceLoop(Coiteration):
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
        """Run the loop over pieces; followers keep their position, as their own inner loops begin them.

        Pieces by occupancy are no rank of the output, so that this loop opens no fiber of the output.
        """
        for number in range(len(self.cursors)):
            cursor: Cursor = self.cursors[number]
            if not self.followers[number]:
                cursor.begin()
        return self.iterate()

    def iterate(self) -> int:
        """Run the body for every piece in which the condition holds.

        If the leader has no element, the whole range is a single piece, at coordinate 0.
        """
        leader: Cursor = self.cursors[0]
        start, end = 0, AT_END  # C: start=long
        if self.outer_loop != NO_WINDOW:
            start = self.state.piece_starts[self.outer_loop]
            end = self.state.piece_ends[self.outer_loop]
        if leader.head_coordinate == AT_END:
            return self._visit_piece(start, end, AT_END)
        # the first piece begins where the range begins: followers may have elements before the leader's first
        while leader.head_coordinate != AT_END:
            coordinate, leader_head = leader.head_coordinate, leader.head
            next_start = (
                leader.coordinates[leader_head + 1] if leader_head + 1 < leader.high else end
            )  # C: long
            self._visit_piece(start, next_start, coordinate)
            start = next_start
            self._advance_past(coordinate)
        return 0

    def _visit_piece(self, start: int, end: int, coordinate: int) -> int:
        """Run the body for a piece if the condition holds; without a leader a whole fiber is one piece."""
        has_leader = coordinate != AT_END
        self.state.piece_starts[self.depth], self.state.piece_ends[self.depth] = start, end
        for number in range(len(self.cursors)):
            cursor: Cursor = self.cursors[number]
            if self.followers[number]:
                self.presence[number] = cursor.reaches_piece(start, end)
            else:  # chained comparison: in this piece, or without a leader at any element, and not at the end
                self.presence[number] = (
                    cursor.head_coordinate == (coordinate if has_leader else cursor.head_coordinate) < AT_END
                )
                if self.presence[number]:
                    cursor.record_coordinate()
        self.steps += 1
        if self._condition_holds():
            self._enter_pieces()
            return self.visit(coordinate if has_leader else 0)
        return 0

    def _enter_pieces(self) -> int:
        for number in range(len(self.cursors)):
            if not self.followers[number]:
                self._enter_or_leave(number)
        return 0
