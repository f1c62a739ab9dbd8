# cython: infer_types=True
# C compiler: -O2
"""A merger modeled by time stamps: the same tokens in the same cycles, with fewer steps of the simulator.

A node of the tree passes on its k-th token in the first cycle that meets three conditions: the cycle is later
than that of token k - 1, all inputs of the node have a visible head, and a slot is free: that of token k - 2,
or for the root one of the output channel. A node of the first stage also waits for its task. The result does
not depend on the order in which nodes are evaluated. The evaluation starts at the root and follows each free
slot down to the way whose token fills it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from fiberscope.hw.fibers.lookahead import (
    ENDED,
    KEY,
    LINK,
    LINKS,
    NEXT,
    NEXT_ROOM,
    NUMBER,
    RECORD,
    ROOM,
    SECOND_KEY,
    SECOND_SEEN,
    SEEN,
)
from fiberscope.hw.fibers.merge import HighRadixMerger
from fiberscope.sim import raw_words
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Component
from fiberscope.sim.constants import BUSY, IDLE, LOOKAHEAD_CYCLES, MAX_TIME
from fiberscope.sim.lookahead import LookaheadModel

__all__ = ["MergeLookahead"]

LINK_MASK = (1 << LINK) - 1
# Priorities: accounting states of a cycle of the merger. If several apply to a cycle, the smallest counts.
MOVED = 0  # a token left a way or the merger
BLOCKED = 1  # the root had a token, but no free slot
FIRST_WAY = 2  # FIRST_WAY + i: way i had no head
NOBODY = -1  # in place of a record: none


class MergeLookahead(LookaheadModel):
    """Replaces a ``HighRadixMerger``; a subclass replaces its ways and the consumer of its output as well.

    Subclasses define ``_read_inputs``, called first in each tick; ``_pop_way`` and ``_leave``, called for
    each token that leaves a way or the merger; ``_output_free_from``, the cycle of the next free slot; and
    ``_settle_others``.
    Within a tick, the calls are in the order of their cycles for each way and for the output, but not for
    different ways.

    Args:
        merger: the merger that this object replaces.
        components: all components that this object replaces, the merger included.
    """

    records: array[int]  # C: hidden long*
    priorities: array[int]  # C: hidden short*
    stack: array[int]  # C: hidden short*
    is_scheduled: array[int]  # C: hidden short*
    postponed: array[int]  # C: hidden short*
    awaited_from: array[int]  # C: hidden long*
    node_of_way: array[int]  # C: hidden short*
    ways_end: array[int]  # C: hidden short*
    states: array[int]  # C: hidden long*
    depth: int
    root: int
    first_node: int
    leaves_end: int
    radix: int
    leaves: int
    idle_priority: int  # no task was in progress
    unmarked: int  # no other state: the cycle is busy
    postponed_count: int
    merging: int  # number of first nodes that merge the task
    ended_at: int  # cycle in which the last of them took its stops
    started_tasks: int  # number of tasks taken from ``tasks``
    ended_tasks: int  # number of tasks whose stop has left
    idle_from: int  # first idle cycle if no task is in progress
    merged_count: int  # number of elements that have left the merger
    next_tick: int  # first cycle at or after the horizon with an event
    settled_cycle: int  # cycle up to which all cycles are accounted

    def __init__(self, merger: HighRadixMerger, components: Sequence[Component]) -> None:
        super().__init__(merger.name, components)
        self.merger = merger
        self._pinned: list[array[int]] = []  # arrays that pointers refer to

    def engage(self) -> None:
        """Start to simulate in place of the components."""
        self.engaged = True
        self.tasks = self.merger.tasks
        self.own_clock = self.tasks._reader_clock
        self.radix = self.merger.radix
        self.leaves = self.merger.leaves
        self._lay_out_nodes()
        self._lay_out_accounts()
        self.depth = self.postponed_count = self.merging = self.merged_count = self.settled_cycle = 0
        self.started_tasks = self.ended_tasks = self.idle_from = 0
        self.ended_at = -1

    def _pin(self, numbers: array[int]) -> array[int]:  # C: def
        """Return an array after storing a reference to it, so that raw pointers into it stay valid."""
        self._pinned.append(numbers)
        return numbers

    def _lay_out_nodes(self) -> None:  # C: def
        """Create the records of ways and nodes, and the lists of nodes to evaluate."""
        tree = self.merger.tree
        inputs = self.radix + len(tree)
        self.records = raw_words.longs(self._pin(array("q", bytes(8 * RECORD * inputs))))
        for number in range(inputs):
            self.records[RECORD * number + SEEN] = MAX_TIME
        self.first_node = RECORD * self.radix
        self.leaves_end = self.first_node + RECORD * self.leaves
        self.root = RECORD * (inputs - 1)
        self.stack = raw_words.shorts(self._pin(array("h", bytes(2 * inputs))))  # nodes to evaluate
        self.postponed = raw_words.shorts(self._pin(array("h", bytes(2 * inputs))))  # at or after the horizon
        self.is_scheduled = raw_words.shorts(self._pin(array("h", bytes(2 * inputs))))  # in either list
        self.node_of_way = raw_words.shorts(self._pin(array("h", bytes(2 * self.radix))))
        self.ways_end = raw_words.shorts(self._pin(array("h", bytes(2 * self.leaves))))  # by leaf
        # By way: cycle since which a node waits for its head, MAX_TIME if none waits or the head is known.
        self.awaited_from = raw_words.longs(self._pin(array("q", [MAX_TIME] * self.radix)))
        for node, (first, count) in enumerate(tree):
            self._lay_out_node(self.first_node + RECORD * node, first, count)

    def _lay_out_node(self, node: int, first: int, count: int) -> None:  # C: def
        """Initialize the record of a node with ``count`` inputs, from way or node number ``first`` on."""
        is_leaf = first < self.radix
        self.records[node + SECOND_SEEN] = MAX_TIME
        self.records[node + NEXT] = MAX_TIME if is_leaf else 0
        self.records[node + LINKS] |= RECORD * first | RECORD * (first + count) << LINK
        if is_leaf:
            self.ways_end[(node - self.first_node) // RECORD] = RECORD * (first + count)
        for number in range(first, first + count):
            if is_leaf:
                self.node_of_way[number] = node
            else:
                self.records[RECORD * number + LINKS] |= node << 2 * LINK

    def _lay_out_accounts(self) -> None:  # C: def
        """Create the priorities of the cycles that are not accounted, and the state of each priority."""
        self.idle_priority = FIRST_WAY + self.radix
        self.unmarked = self.idle_priority + 1
        priorities = array("h", [self.unmarked] * LOOKAHEAD_CYCLES)  # by cycle, from ``settled_cycle``
        self.priorities = raw_words.shorts(self._pin(priorities))
        states = [BUSY, self.merger.merged.writer_state, *(way.reader_state for way in self.merger.ways)]
        self.states = raw_words.longs(self._pin(array("q", [*states, IDLE, BUSY])))

    def tick(self, now: int) -> int:
        """Compute all events before the horizon whose cycles are known."""
        self.next_tick = MAX_TIME
        self._read_inputs(now)
        for i in range(self.postponed_count):
            self.stack[self.depth] = self.postponed[i]
            self.depth += 1
        self.postponed_count = 0
        if self.merging == 0 and self.tasks.can_pop():
            self._start_task(now)
        self._merge()
        if self.next_tick < MAX_TIME:
            self.wake_at(self.next_tick)
        return self.idle()

    def _read_inputs(self, now: int) -> None:
        """Read the state that other components have changed since the last tick."""
        raise NotImplementedError(f"{type(self).__name__} does not define _read_inputs")

    def _pop_way(self, record: int, cycle: int) -> None:
        """Pop the head of the way with this record, in this cycle."""
        raise NotImplementedError(f"{type(self).__name__} does not define _pop_way")

    def _leave(self, cycle: int, key: int) -> None:
        """Pass on the element or stop with this key, which leaves the merger in this cycle."""
        raise NotImplementedError(f"{type(self).__name__} does not define _leave")

    def _output_free_from(self) -> int:
        """Return the cycle from which a slot is free for the next token to leave, ``MAX_TIME`` if unknown."""
        raise NotImplementedError(f"{type(self).__name__} does not define _output_free_from")

    def _settle_others(self, cycle: int) -> None:
        """Account for the cycles of the replaced components other than the merger, up to this cycle."""
        raise NotImplementedError(f"{type(self).__name__} does not define _settle_others")

    def _merge(self) -> None:
        """Let all nodes pass on the tokens whose cycles are known."""
        self.records[self.root + ROOM] = self._output_free_from()
        self._schedule(self.root)
        while self.depth > 0:
            self.depth -= 1
            node = self.stack[self.depth]
            self.is_scheduled[node >> NUMBER] = 0
            while node != NOBODY:
                node = self._pass_on(node)

    def _schedule(self, node: int) -> None:  # C: noexcept, inline
        """Put a node on the stack of nodes to evaluate, unless it is listed already."""
        if not self.is_scheduled[node >> NUMBER]:
            self.is_scheduled[node >> NUMBER] = 1
            self.stack[self.depth] = node
            self.depth += 1

    def _note_head(self, way: int) -> None:
        """Note that a head has arrived at an empty way, and evaluate the node if it waits for the head."""
        if self.awaited_from[way] < MAX_TIME:
            self._await_head(way, self.awaited_from[way])
            self._schedule(self.node_of_way[way])

    def _await_head(self, way: int, cycle: int) -> None:
        """Let a node wait for the head of a way from this cycle on; mark the wait if its end is known."""
        seen = self.records[RECORD * way + SEEN]
        self.awaited_from[way] = cycle if seen == MAX_TIME else MAX_TIME
        if seen < MAX_TIME:
            self._mark(FIRST_WAY + way, cycle, seen)

    def _start_task(self, now: int) -> None:
        """Take the next task, if the first stage took the stops of the last task in an earlier cycle."""
        if self.ended_at >= now:
            self.wake_at(self.ended_at + 1)
            return
        fan_in = self.tasks.coordinate()
        self.tasks.pop()
        if self.started_tasks == self.ended_tasks:
            self._mark(self.idle_priority, self.idle_from, now)
        self.started_tasks += 1
        self.merging = self.leaves
        for way in range(fan_in):
            self._await_head(way, now)
        for leaf in range(self.leaves):
            node = self.first_node + RECORD * leaf
            links = self.records[node + LINKS]
            # the end of the node's ways that take part; none takes part in a node beyond the fan-in
            end = min(max(RECORD * fan_in, links & LINK_MASK), self.ways_end[leaf])
            self.records[node + LINKS] = links & ~(LINK_MASK << LINK) | end << LINK
            self.records[node + NEXT] = now
            self._schedule(node)

    def _pass_on(self, node: int) -> int:  # C: inline
        """Pass on a node's next token if its cycle is known and before the horizon.

        Return the child node whose buffer slot became free, ``NOBODY`` if there is none to evaluate.
        """
        links = self.records[node + LINKS]
        earliest = self.records[node + NEXT]
        key, source = ENDED, NOBODY  # stay if all heads are stops
        end = links >> LINK & LINK_MASK
        record = links & LINK_MASK
        while record < end:
            earliest = max(earliest, self.records[record + SEEN])
            source = record if self.records[record + KEY] < key else source
            key = min(key, self.records[record + KEY])
            record += RECORD
        cycle = max(earliest, self.records[node + ROOM])
        if cycle >= self.horizon:
            self._postpone(node, cycle)
            return NOBODY
        self.records[node + NEXT] = cycle + 1
        if node == self.root:
            self._mark(BLOCKED, earliest, cycle)
            self._emit(cycle, key)
        else:
            self._store(node, cycle, key, links >> 2 * LINK)
        if self.records[node + ROOM] < MAX_TIME:  # the next token has a slot too
            self._schedule(node)
        if source == NOBODY:
            self._take_stops(node, links & LINK_MASK, end, cycle)
            return NOBODY
        if source < self.first_node:
            self._take_head(source, cycle)
            return NOBODY
        self._pop_buffer(source, cycle)
        return source

    def _postpone(self, node: int, cycle: int) -> None:  # C: noexcept, inline
        """Evaluate a node again in the next tick if its cycle is known; else an event will list it."""
        if cycle < MAX_TIME and not self.is_scheduled[node >> NUMBER]:
            self.next_tick = min(self.next_tick, cycle)
            self.is_scheduled[node >> NUMBER] = 1
            self.postponed[self.postponed_count] = node
            self.postponed_count += 1

    def _store(self, node: int, cycle: int, key: int, parent: int) -> None:  # C: noexcept, inline
        """Put a token into the output buffer of a node, and evaluate the parent if the buffer was empty."""
        self.records[node + ROOM] = self.records[node + NEXT_ROOM]
        self.records[node + NEXT_ROOM] = MAX_TIME
        if self.records[node + SEEN] == MAX_TIME:
            self.records[node + KEY] = key
            self.records[node + SEEN] = cycle + 1
            self._schedule(parent)
        else:
            self.records[node + SECOND_KEY] = key
            self.records[node + SECOND_SEEN] = cycle + 1

    def _pop_buffer(self, node: int, cycle: int) -> None:  # C: noexcept, inline
        """Remove the first token from the output buffer of a node."""
        free_word = ROOM if self.records[node + ROOM] == MAX_TIME else NEXT_ROOM
        self.records[node + free_word] = cycle + 1
        self.records[node + KEY] = self.records[node + SECOND_KEY]
        self.records[node + SEEN] = self.records[node + SECOND_SEEN]
        self.records[node + SECOND_SEEN] = MAX_TIME

    def _take_stops(self, node: int, record: int, end: int, cycle: int) -> None:  # C: inline
        """Take the stops of all inputs of a node."""
        while record < end:
            if node < self.leaves_end:
                self._take_way(record, cycle)
            else:
                self._pop_buffer(record, cycle)
                self._schedule(record)
            record += RECORD
        if node < self.leaves_end:
            self.records[node + NEXT] = MAX_TIME
            self.ended_at = max(self.ended_at, cycle)
            self.merging -= 1
            if self.merging == 0:
                self.wake_at(self.ended_at + 1)

    def _take_head(self, record: int, cycle: int) -> None:  # C: inline
        """Pop an element of a way, and wait for the next head from the next cycle on."""
        self._take_way(record, cycle)
        if self.records[record + SEEN] > cycle:  # a visible head needs no wait
            self._await_head(record >> NUMBER, cycle + 1)

    def _take_way(self, record: int, cycle: int) -> None:  # C: inline
        """Pop the head of a way, and mark the cycle as busy."""
        self.priorities[cycle - self.settled_cycle] = MOVED
        self._pop_way(record, cycle)

    def _mark(self, priority: int, start: int, end: int) -> None:  # C: noexcept, inline
        """Mark the cycles ``start`` to ``end`` - 1 with a priority, where they have no smaller one."""
        for offset in range(
            max(start - self.settled_cycle, 0), min(end - self.settled_cycle, LOOKAHEAD_CYCLES)
        ):
            self.priorities[offset] = min(self.priorities[offset], priority)

    def _emit(self, cycle: int, key: int) -> None:  # C: inline
        """Pass on an element or a stop from the root in this cycle, and find the next free slot."""
        self.priorities[cycle - self.settled_cycle] = MOVED
        if key == ENDED:
            self.ended_tasks += 1
            self.idle_from = cycle + 1
        else:
            self.merged_count += 1
        self._leave(cycle, key)
        self.records[self.root + ROOM] = self._output_free_from()

    def last_event_cycle(self) -> int:
        """Return the last cycle with an event that has been computed."""
        last = self.ended_at + 1
        for node in range(self.first_node, self.root + 1, RECORD):
            if self.records[node + NEXT] < MAX_TIME:
                last = max(last, self.records[node + NEXT])
        return last - 1

    def reveal_tokens(self) -> list[Channel]:  # C: def
        """Return the ways, whose tokens are not revealed."""
        return list(self.merger.ways)

    def settle(self, cycle: int) -> None:
        """Account for all cycles before this one; all events before it must be known."""
        if cycle > self.settled_cycle:
            self._mark_waits(cycle)
            self._settle_merger(cycle)
            self._settle_others(cycle)
            self.settled_cycle = cycle

    def _mark_waits(self, cycle: int) -> None:  # C: noexcept
        """Mark the waits that have not ended before this cycle."""
        links = self.records[self.root + LINKS]
        earliest = self.records[self.root + NEXT]
        for record in range(links & LINK_MASK, links >> LINK & LINK_MASK, RECORD):
            earliest = max(earliest, self.records[record + SEEN])
        self._mark(BLOCKED, earliest, cycle)
        if self.started_tasks == self.ended_tasks:
            self._mark(self.idle_priority, self.idle_from, cycle)
        for way in range(self.radix):
            self._mark(FIRST_WAY + way, self.awaited_from[way], cycle)

    def _settle_merger(self, cycle: int) -> None:  # C: noexcept
        """Add up the cycles by priority, unmarked ones as busy.

        Cycles beyond ``LOOKAHEAD_CYCLES`` are in the state of the last cycle within.
        """
        merger = self.merger
        marked = min(cycle - self.settled_cycle, LOOKAHEAD_CYCLES)
        state = merger._state
        for offset in range(marked):
            state = self.states[self.priorities[offset]]
            merger._cycles[state] += 1
            self.priorities[offset] = self.unmarked
        merger._cycles[state] += cycle - self.settled_cycle - marked
        merger._state = state
        merger._since = cycle
        merger.merges = self.started_tasks
        merger.merged_elements = self.merged_count
