# cython: infer_types=True
# C compiler: -O2
"""A lookahead model of a ``FiberPairs`` and of the blocks behind it."""

from __future__ import annotations

from collections.abc import Sequence

from fiberscope.hw.streams import fused_channel
from fiberscope.hw.streams.alu import Alu
from fiberscope.hw.streams.arrays import ArrayLoad
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.fiber_pairs import FiberPairs
from fiberscope.hw.streams.fused_chain import FusedChain
from fiberscope.hw.streams.fused_records import (
    BUSY_UNTIL,
    CLASS,
    DUE,
    INPUT,
    INPUTS,
    KIND_BITS,
    KIND_MASK,
    LOAD,
    NUMBER,
    PAIRS,
    POINTS,
    PRODUCT,
    REDUCE,
)
from fiberscope.hw.streams.kept import EACH, NO_STOP
from fiberscope.hw.streams.pair_modes import ENDED, MET, WALKS, WANTS_LISTS
from fiberscope.hw.streams.reduce import FiberReduce
from fiberscope.hw.streams.task_cut import TaskEnd
from fiberscope.hw.streams.task_sum import TaskPoints
from fiberscope.hw.streams.tokens import DATA, DONE, EMPTY, INTEGER, STOP
from fiberscope.sim.constants import MAX_TIME
from fiberscope.sim.wiring import Link

__all__ = ["PairsLookahead"]


class PairsLookahead(FusedChain):
    """Computes the pairs of two lists, and all that follows from them.

    The first block pops references only in the current cycle, so that their writers see the slots in time.
    A pair without a match leaves nothing, so that no stream has an N, and each fiber has a value.

    Args:
        blocks: a ``FiberPairs``, then blocks of the classes ``ArrayLoad``, ``Alu``, ``FiberReduce``,
            ``TaskPoints`` and ``TaskEnd``. See also ``FusedChain``.
        links: see ``FusedChain``.
    """

    def __init__(self, blocks: Sequence[StreamBlock], links: Sequence[Link]) -> None:
        super().__init__(blocks, links)
        self.pairs: FiberPairs = self.blocks[0]

    def _await_inputs(self, block: int, cycle: int) -> int:
        """Note the inputs for which the next update waits; return the cycle of the update."""
        words = self.words
        if words[block + CLASS] == PAIRS:
            return self._await_lists(block, cycle)
        if words[block + CLASS] == REDUCE:
            return self._await_value(block, cycle)
        for index in range(words[block + INPUTS]):
            cycle = max(cycle, self._await_token(block, words[block + INPUT + index]))
        return cycle

    def _await_lists(self, block: int, cycle: int) -> int:
        """Note the references that the next update waits for, if any; return the cycle of the update."""
        pairs = self.pairs
        # In other modes, the steps need no further references.
        if pairs.mode not in (WANTS_LISTS, ENDED):
            return cycle
        first, second = pairs.in_ref0, pairs.in_ref1
        cycle = max(cycle, self._await(block, first._seen_from, first.reader_state))
        cycle = max(cycle, self._await(block, second._seen_from, second.reader_state))
        # The references are popped in a later cycle: the model must tick then, to pop them. The end of the
        # lists pops only a stop; another token stays, and then the update can be computed in advance.
        if self.ticked_cycle < cycle < MAX_TIME and (pairs.mode == WANTS_LISTS or first.control() == STOP):
            self.words[block + DUE] = cycle
            return MAX_TIME
        return cycle

    def _await_value(self, block: int, cycle: int) -> int:
        """Note the inputs that the next update of a reducer waits for; return the cycle of the update."""
        reduce: FiberReduce = self.blocks[self.words[block + NUMBER]]
        words = self.words
        crd, val = words[block + INPUT], words[block + INPUT + 1]
        if reduce.owed != NO_STOP:
            return cycle
        if reduce.in_fiber:
            cycle = max(cycle, self._await_token(block, val))
            # The stop of a list is popped from both inputs in one cycle.
            if not fused_channel.is_empty(words, val) and _ends_list(fused_channel.token(words, val)):
                cycle = max(cycle, self._await_token(block, crd))
            return cycle
        cycle = max(cycle, self._await_token(block, crd))
        if fused_channel.is_empty(words, crd):
            return MAX_TIME
        if fused_channel.token(words, crd) & KIND_MASK != DATA:
            return max(cycle, self._await_token(block, val))
        if cycle < MAX_TIME and fused_channel.is_empty(words, val) and self._empty_until(val) <= cycle:
            self.words[block + DUE] = cycle  # then at the latest it is known whether a value is visible
            return MAX_TIME
        return cycle

    def _fire(self, block: int, cycle: int) -> bool:
        """Make the update of this cycle; return whether the cycle is busy."""
        kind = self.words[block + CLASS]
        if kind == PAIRS:
            return self._intersect(block, cycle)
        if kind == LOAD:
            self._load(block, cycle)
        elif kind == PRODUCT:
            self._multiply(block, cycle)
        elif kind == REDUCE:
            self._reduce(block, cycle)
        elif kind == POINTS:
            self._pass_point(block, cycle)
        else:
            self._end_task(block, cycle)
        return True

    def _intersect(self, block: int, cycle: int) -> bool:
        """Pop references, walk to the next match or the end of the lists, send a match, or end the lists."""
        pairs = self.pairs
        if pairs.mode == MET:
            self._send_match(block, cycle)
            return True
        if pairs.mode == ENDED:
            level = pairs.pop_stop_level(cycle)
            pairs.mode = WANTS_LISTS
            self._send_end(block, cycle, STOP, level)
            return True
        if pairs.mode == WANTS_LISTS:
            kind, other_kind = pairs.in_ref0.control(), pairs.in_ref1.control()
            first, second = pairs.in_ref0.coordinate(), pairs.in_ref1.coordinate()
            pairs.pop_pair(cycle)
            if kind not in (DATA, EMPTY):
                # The pairs of two lists form a fiber, so that a stop of references leaves one level higher.
                self._send_end(block, cycle, kind, first + 1)
                return True
            pairs._start_fibers(first, second, kind == other_kind == DATA)
        # No token leaves in this step. Until the match or the end, the block is busy.
        pairs.last_step_cycle = self.words[block + BUSY_UNTIL] = pairs.find_match(cycle)
        return False

    def _send_match(self, block: int, cycle: int) -> None:
        """Send a match; before the first match of a pair, send the stop of an earlier pair if it is due."""
        pairs = self.pairs
        if pairs.is_new:
            if pairs.owes_stop:
                self._push(block, 2, cycle, STOP, 0.0)
                self._push(block, 3, cycle, STOP, 0.0)
                pairs.owes_stop = False
                return
            self._push(block, 0, cycle, pairs.rows.coordinate(pairs.row) << KIND_BITS, 0.0)
            self._push(block, 1, cycle, pairs.columns.coordinate(pairs.column) << KIND_BITS, 0.0)
            pairs.is_new = False
            pairs.pairs += 1
        self._push(block, 2, cycle, pairs.intersection.a << KIND_BITS, 0.0)
        self._push(block, 3, cycle, pairs.intersection.b << KIND_BITS, 0.0)
        pairs.owes_stop = True
        pairs.matches += 1
        pairs.mode = WALKS

    def _send_end(self, block: int, cycle: int, kind: int, level: int) -> None:
        """Send done, or a stop of this level on the outputs of coordinates, one higher on the others."""
        for stream in range(4):
            # The matches of a pair form a fiber within the fiber of pairs.
            payload = 0 if kind == DONE else level + (stream > 1)
            self._push(block, stream, cycle, payload << KIND_BITS | kind, 0.0)
        if kind == DONE:
            self._finish(block, cycle)

    def _load(self, block: int, cycle: int) -> None:
        """Read a value, or pass a stop or done."""
        load: ArrayLoad = self.blocks[self.words[block + NUMBER]]
        words = self.words
        source = words[block + INPUT]
        token = fused_channel.token(words, source)
        fused_channel.pop(words, source, cycle)
        if token & KIND_MASK == DATA:
            self._push(block, 0, cycle, load.mark << KIND_BITS, load.load(token >> KIND_BITS))
        else:
            self._push(block, 0, cycle, token, 0.0)
        if token & KIND_MASK == DONE:
            self._finish(block, cycle)

    def _multiply(self, block: int, cycle: int) -> None:
        """Combine the heads of two operands of the same shape."""
        alu: Alu = self.blocks[self.words[block + NUMBER]]
        words = self.words
        a, b = words[block + INPUT], words[block + INPUT + 1]
        token = fused_channel.token(words, a)
        if token & KIND_MASK == DATA:
            result = alu.compute(
                fused_channel.value(words, self.values, a) * alu.sign_a,
                fused_channel.value(words, self.values, b) * alu.sign_b,
            )
            # ``DATA`` as a whole token has the payload 0: the result has no mark.
            self._push(block, 0, cycle, DATA, result)
        else:
            self._push(block, 0, cycle, token, 0.0)
        fused_channel.pop(words, a, cycle)
        fused_channel.pop(words, b, cycle)
        if token & KIND_MASK == DONE:
            self._finish(block, cycle)

    def _reduce(self, block: int, cycle: int) -> None:
        """Send a stop that a reducer owes, or take a token. All fibers have values."""
        reduce: FiberReduce = self.blocks[self.words[block + NUMBER]]
        words = self.words
        crd, val = words[block + INPUT], words[block + INPUT + 1]
        if reduce.owed != NO_STOP:
            self._push(block, 0, cycle, reduce.owed << KIND_BITS | STOP, 0.0)
            reduce.owed = NO_STOP
        elif reduce.in_fiber:
            self._take_value(block, cycle, reduce)
        elif fused_channel.token(words, crd) & KIND_MASK == DATA:
            fused_channel.pop(words, crd, cycle)
            reduce.in_fiber = True
            # The first value of a fiber is popped with the coordinate if it is visible. A stop that also ends
            # the list waits a cycle, because a second token of the coordinates is popped with it.
            if fused_channel.arrival(words, val) <= cycle and not _ends_list(fused_channel.token(words, val)):
                self._take_value(block, cycle, reduce)
        else:
            token = fused_channel.token(words, crd)
            self._push(block, 0, cycle, token, 0.0)
            fused_channel.pop(words, crd, cycle)
            fused_channel.pop(words, val, cycle)
            if token & KIND_MASK == DONE:
                self._finish(block, cycle)

    def _take_value(self, block: int, cycle: int, reduce: FiberReduce) -> None:
        """Take a value of the fiber, or its stop; pop a stop of the coordinates if a list ends, too."""
        words = self.words
        crd, val = words[block + INPUT], words[block + INPUT + 1]
        if _ends_list(fused_channel.token(words, val)):
            fused_channel.pop(words, crd, cycle)
        token = fused_channel.token(words, val)
        if token & KIND_MASK == DATA:
            reduce.value_tokens += 1
            reduce._combine(fused_channel.value(words, self.values, val), token >> KIND_BITS == INTEGER)
        else:
            reduce.in_fiber = False
            reduce.nonempty_fibers += 1
            reduce.value_tokens = 0
            self._push(block, 0, cycle, DATA, reduce.result)
            reduce.count_result(reduce.result)
            # After a stop of level 0 the reducer owes none: the result is ``NO_STOP``.
            reduce.owed = (token >> KIND_BITS) - 1
        fused_channel.pop(words, val, cycle)

    def _pass_point(self, block: int, cycle: int) -> None:
        """Pass a token of each stream, or drop a stop that ends no task."""
        points: TaskPoints = self.blocks[self.words[block + NUMBER]]
        words = self.words
        value = words[block + INPUT + points.ways]
        kind = fused_channel.token(words, value) & KIND_MASK
        is_dropped = kind == STOP and fused_channel.token(words, value) >> KIND_BITS < points.level
        points.dropped += is_dropped
        for index in range(points.ways + 1):
            channel = words[block + INPUT + index]
            if not is_dropped:
                self._push(
                    block,
                    index,
                    cycle,
                    fused_channel.token(words, channel),
                    fused_channel.value(words, self.values, channel),
                )
            fused_channel.pop(words, channel, cycle)
        if kind == DONE:
            self._finish(block, cycle)

    def _end_task(self, block: int, cycle: int) -> None:
        """Take a token, and report the end of a task."""
        end: TaskEnd = self.blocks[self.words[block + NUMBER]]
        words = self.words
        source = words[block + INPUT]
        token = fused_channel.token(words, source)
        kind = token & KIND_MASK
        if (kind == DATA) if end.level == EACH else (kind == STOP and token >> KIND_BITS >= end.level):
            self._push_into(self.ended, cycle, DATA, 0.0)
        fused_channel.pop(words, source, cycle)
        if kind == DONE:
            self._finish(block, cycle)


def _ends_list(token: int) -> bool:  # C: cdef, noexcept, inline
    """Return whether a value of a fiber is a stop that also ends the list around the fiber."""
    return token & KIND_MASK == STOP and token > STOP
