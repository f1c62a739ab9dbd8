# cython: infer_types=True
"""A block that sends the fibers of tasks to the ways of a merger."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy.typing as npt

from fiberscope.hw.fibers.arrays import integers_of, values_of
from fiberscope.hw.fibers.merge import MERGE_TASK
from fiberscope.hw.memory.protocol import REPLY, REQUEST
from fiberscope.hw.stream import STREAM
from fiberscope.hw.streams.block import StreamBlock
from fiberscope.hw.streams.growing_memory import Growing
from fiberscope.hw.streams.merge_lists import MERGE, PARTIAL, POINTS, Lists
from fiberscope.hw.streams.queue import Queue
from fiberscope.hw.streams.tokens import CRD, DATA, DONE, EMPTY, REF, STOP
from fiberscope.hw.streams.way_lines import ArrayLines, WayLines
from fiberscope.sim.channel import Channel
from fiberscope.sim.component import Input, Output, Port, Signal

SLOTS = 2  # merges: the current merge, and the next one, whose lines are already requested
PORTS_OF_MEMORY = ("requests", "replies")


class FiberWays(StreamBlock):
    """Sends the fibers of each task to the ways of a merger, in as many rounds of merges as necessary.

    Interface: ``in_crd`` carries coordinates, ``in_ref`` references to fibers (lists), ``in_carried[0]`` and
    so on further references of the lists, all of the same shape. A stop ends a task. Empty fibers are
    skipped. A round merges up to ``radix`` lists at a time, in their order; the next round merges the results
    (partial fibers), until one is left. ``tasks`` carries the number of ways of a merge to the merger,
    ``groups`` its destination to the block after the merger. ``partials`` has a token for each complete
    partial fiber. Elements leave on ``ways``, with the number of their list as reference, then a stop.
    ``requests[i]`` fetches lines of the i-th array in memory; ``replies[i]`` returns them in any order.

    Timing: in each cycle the block takes a list, requests and receives one line of each array, and sends an
    element that has arrived, or a stop, to each way with a free slot. A merge starts when all lists of its
    task, or its partial fibers, are complete, and at most one other merge is running. Lines of the next merge
    are requested when no line of the current one can be. Up to ``waiting`` tasks wait.

    Counts: ``lists``; ``merged`` elements in tasks with several lists, counted in each round; ``partial``,
    those of ``merged`` that are elements of partial fibers; ``merges``; ``lines`` requested.

    Source: Gamma (ASPLOS 2021) merges up to 64 fibers at once, and merges the partial fibers of longer tasks
    again. The order of the rounds is that of TeAAL (MICRO 2023). That a way takes an element a cycle is a
    choice of this model.

    Args:
        radix: number of ways of the merger.
        segments, coordinates, values: arrays of the level with the fibers.
        lists: state that this block shares with the block after the merger.
        arrays: layout of the arrays of the level that are in memory.
        ahead: largest number of lines in flight for a way and an array.
        waiting: largest number of complete tasks that wait.

    Raises:
        SimulationError: during the run, if the streams differ in shape.
    """

    COUNTERS = ("lists", "merged", "partial", "merges", "lines")
    SIGNALS = (*StreamBlock.SIGNALS, Signal("fan_in", 16), Signal("unfinished", 16))

    PORTS = (
        Input("in_crd", CRD),
        Input("in_ref", REF),
        Input("in_carried", REF, array=True, optional=True),
        Input("partials", PARTIAL),
        Output("tasks", MERGE_TASK),
        Output("groups", MERGE),
        Output("ways", STREAM, array=True),
        Output("requests", REQUEST, array=True, optional=True),
        Input("replies", REPLY, array=True, optional=True),
    )

    in_crd: Channel
    in_ref: Channel
    in_carried: list[Channel]
    partials: Channel
    tasks: Channel
    groups: Channel
    ways: list[Channel]
    requests: list[Channel]
    replies: list[Channel]

    def __init__(
        self,
        name: str,
        radix: int,
        segments: npt.ArrayLike,
        coordinates: npt.ArrayLike,
        values: npt.ArrayLike,
        lists: Lists,
        arrays: Sequence[ArrayLines] = (),
        *,
        ahead: int = 4,
        waiting: int = 2,
    ) -> None:
        super().__init__(name)
        self.radix, self.waiting = radix, waiting
        self.segments = integers_of(segments)  # C: long[::1]
        self.coordinates = integers_of(coordinates)  # C: long[::1]
        self.values = values_of(values)  # C: double[::1]
        self.table = lists
        self.arrays = [WayLines(layout, SLOTS * radix, ahead) for layout in arrays]
        self.memories = len(self.arrays)
        self.fibers = Growing()  # fiber of each list
        self.complete_lists = Queue()  # number of lists of each task that is complete
        self.received_count = 0  # lists received of the task that arrives
        self.has_received_all = False
        self.task = -1  # serial number of the current task
        self.first = self.next_first = 0  # first list of the current task and of the next task
        self.several = False  # whether the task has more than one list
        self.area = POINTS  # area that the round reads; ``POINTS``: the level
        self.count = 0  # number of lists or partial fibers that the round merges
        self.assigned_count = 0  # number of them that have a way
        self.remaining_merges = 0  # merges of the round that have not started
        self.stored_partials = 0  # number of partial fibers that the last round wrote
        self.slot = self.started_merges = 0  # slot of the current merge, and number of slots with a merge
        self.fan_ins = array("q", bytes(8 * SLOTS))  # ways of each merge
        self.unfinished_counts = array("q", bytes(8 * SLOTS))  # ways of each merge that have not sent a stop
        self.areas = array("q", bytes(8 * SLOTS))  # area that each merge reads
        self.is_counted = bytearray(SLOTS)  # whether the merge has several lists
        self.next_element = array("q", bytes(8 * SLOTS * radix))
        self.last_element = array("q", bytes(8 * SLOTS * radix))
        self.source = array("q", bytes(8 * SLOTS * radix))
        self.sends_elements = True  # whether this component sends elements; else a lookahead model does
        self.lists = self.merged = self.partial = self.merges = 0

    @property
    def lines(self) -> int:
        """Number of lines of all arrays that were requested so far."""
        return sum(lines.lines for lines in self.arrays)

    @property
    def fan_in(self) -> int:
        """Number of ways of the current merge."""
        return self.fan_ins[self.slot] if self.started_merges > 0 else 0

    @property
    def unfinished(self) -> int:
        """Number of ways of the current merge that have not sent their stop."""
        return self.unfinished_counts[self.slot] if self.started_merges > 0 else 0

    def elaborate(self) -> None:
        """Look up the channels of the ports."""
        super().elaborate()
        self.list_streams = [self.in_crd, self.in_ref, *self.in_carried]

    def fetch(self, port: Port) -> object:
        """Return the attribute of a port; ways and memory ports are channels, not streams of a block."""
        is_channel = port.name in ("ways", *PORTS_OF_MEMORY)
        return self.channels(port.name) if is_channel else super().fetch(port)

    def tick(self, now: int) -> int:
        """Take a list and lines, send an element to each way, start a merge, and request lines."""
        if self.done:
            return self.idle()
        return self.busy(now + 1) if self._work(now) else self._wait(now)

    def _work(self, now: int) -> bool:
        """Do the work of this cycle, and return whether there was any."""
        moved = self._accept(now) | self._receive_partials()
        for index in range(self.memories):
            lines: WayLines = self.arrays[index]
            moved = lines.receive(self.replies[index]) or moved
        if self.sends_elements and self.started_merges > 0 and self._feed():
            moved = True
        while self.started_merges > 0 and self.unfinished_counts[self.slot] == 0:
            self.slot = 1 - self.slot
            self.started_merges -= 1
            moved = True
        if self.started_merges < SLOTS and self._start_merge():
            moved = True
        return (self.started_merges > 0 and self._request_lines()) or moved

    def _receive_partials(self) -> bool:
        """Count the partial fibers that became complete, and return whether there were any."""
        has_arrived = self.partials.can_pop()
        while self.partials.can_pop():
            self.partials.pop()
            self.stored_partials += 1
        return has_arrived

    def _wait(self, now: int) -> int:
        """Return the wait state of a cycle without work; at the end, send done."""
        if self.started_merges > 0:
            return self._wait_for_elements()
        if self.remaining_merges > 0:
            if self._lacks_partials():
                return self.wait_input(self.partials)
            return self.wait_output(self.groups if self.tasks.can_push() else self.tasks)
        if not self.has_received_all:
            return self.wait_input(self._missing())
        if not self.groups.can_push():
            return self.wait_output(self.groups)
        self.groups.push(DONE)
        return self.finish(now)

    def _wait_for_elements(self) -> int:
        """Wait for a free slot of a way, or for a line if no way has an element to send."""
        if self.memories == 0 or (self.sends_elements and self._has_element()):
            return self.wait_any_output(self.ways)
        for index in range(self.memories):
            lines: WayLines = self.arrays[index]
            if lines.waiting > 0:
                return self.wait_input(self.replies[index])
        return self.wait_any_output(self.requests)

    def _has_element(self) -> bool:  # C: noexcept
        """Return whether the next element or stop of any way of the current merge is available."""
        first_slot = self.slot * self.radix
        for way in range(first_slot, first_slot + self.fan_ins[self.slot]):
            if self.next_element[way] <= self.last_element[way] and self._is_here(way):
                return True
        return False

    def _missing(self) -> Channel:
        for channel in self.list_streams:
            if not channel.can_pop():
                return channel
        return self.in_crd

    def _accept(self, now: int) -> bool:
        """Take a list, or the stop of a task, and return whether there was one."""
        crd, ref = self.in_crd, self.in_ref
        if self.has_received_all or self.complete_lists.count == self.waiting:
            return False
        for channel in self.list_streams:
            if not channel.can_pop():
                return False
        kind = crd.control()
        self.check_shape(self.list_streams, now, False)
        if kind == DATA:
            self._take_list(crd, ref)
        elif kind == STOP:
            self.complete_lists.put(self.received_count)
            self.table.most_lists = max(self.table.most_lists, self.waiting * self.received_count)
            self.received_count = 0
        else:
            self.has_received_all = True
        for channel in self.list_streams:
            channel.pop()
        return True

    def _take_list(self, crd: Channel, ref: Channel) -> None:
        fiber = ref.coordinate()
        if ref.control() == EMPTY or self.segments[fiber] == self.segments[fiber + 1]:
            return
        table = self.table
        table.coordinates.append(crd.coordinate())
        for index in range(len(self.in_carried)):
            source: Channel = self.in_carried[index]
            references: Growing = table.carried[index]
            references.append(source.coordinate())
        self.fibers.append(fiber)
        self.received_count += 1
        self.lists += 1

    def _start_merge(self) -> bool:
        """Start the next merge, and return whether one could start."""
        if self.remaining_merges == 0 and not self._next_round():
            return False
        if self._lacks_partials() or not self.tasks.can_push() or not self.groups.can_push():
            return False
        self._merge(min(self.radix, self.count - self.assigned_count))
        return True

    def _lacks_partials(self) -> bool:
        """Return whether the round waits for results of the last round, or for readers of its area."""
        if self.assigned_count > 0:
            return False
        area_in_use = self.areas[self.slot] if self.started_merges > 0 else POINTS
        lacks_results = self.area != POINTS and self.stored_partials < self.count
        return lacks_results or (area_in_use != POINTS and area_in_use == self._target())

    def _next_round(self) -> bool:
        """Select the next round, or the first of the next task, and return whether there is one."""
        if self.count > self.radix:
            self.area = self._target()
            self.count = self._merges()
        elif self.complete_lists.count > 0:
            self.area, self.count = POINTS, self.complete_lists.integer(0)
            self.complete_lists.drop(1)
            self.first = self.next_first
            self.next_first += self.count
            self.several = self.count > 1
            self.task += 1
        else:
            return False
        self.assigned_count, self.remaining_merges = 0, max(1, self._merges())
        return True

    def _merges(self) -> int:
        """Return the number of merges of the current round."""
        return (self.count + self.radix - 1) // self.radix

    def _target(self) -> int:
        """Return the area for the results of the round; ``POINTS`` for the last round."""
        if self.count <= self.radix:
            return POINTS
        return 0 if self.area == POINTS else 1 - self.area

    def _merge(self, fan_in: int) -> None:
        """Start a merge: assign the next ``fan_in`` lists of the round to ways."""
        target = self._target()
        if target != POINTS and self.assigned_count == 0:
            self.table.clear(target)
            self.stored_partials = 0
        slot = (self.slot + self.started_merges) % SLOTS
        for way in range(fan_in):
            self._set_up(slot * self.radix + way, self.assigned_count + way)
        self.assigned_count += fan_in
        self.remaining_merges -= 1
        self.started_merges += 1
        self.fan_ins[slot] = self.unfinished_counts[slot] = fan_in
        self.areas[slot] = self.area
        self.is_counted[slot] = self.several
        self.merges += 1
        self.tasks.push(0, fan_in, self.task)
        self.groups.push(DATA, target)

    def _set_up(self, way: int, position: int) -> None:
        """Assign list or partial fiber number ``position`` of the round to a way."""
        if self.area == POINTS:
            fiber = self.fibers.integer(self.first + position)
            self.next_element[way] = self.segments[fiber]
            self.last_element[way] = self.segments[fiber + 1]
            self.source[way] = self.first + position
            for number in range(self.memories):
                lines: WayLines = self.arrays[number]
                lines.assign(way, fiber, self.next_element[way], self.last_element[way])
        else:
            ends: Growing = self.table.ends[self.area]
            self.next_element[way] = 0 if position == 0 else ends.integer(position - 1)
            self.last_element[way] = ends.integer(position)
            self.table.most_partial = max(self.table.most_partial, ends.integer(position))

    def _request_lines(self) -> bool:
        """Request a line of each array for the current merge, or else for the next, if one is left."""
        has_requested = False
        for index in range(self.memories):
            lines: WayLines = self.arrays[index]
            for age in range(self.started_merges if lines.unfinished_ways > 0 else 0):
                slot = (self.slot + age) % SLOTS
                if lines.request_line(self.requests[index], slot * self.radix, self.fan_ins[slot]):
                    has_requested = True
                    break
        return has_requested

    def _is_here(self, way: int) -> bool:  # C: noexcept
        """Return whether the next element of a way, or its stop, is available."""
        element = self.next_element[way]
        return element == self.last_element[way] or self._has_arrived(way, element)

    def _has_arrived(self, way: int, element: int) -> bool:  # C: noexcept
        """Return whether an element of a way has arrived."""
        if self.areas[way // self.radix] != POINTS:
            return True
        for index in range(self.memories):
            lines: WayLines = self.arrays[index]
            if element >= lines.arrived_end[way]:
                return False
        return True

    def _feed(self) -> bool:
        """Send an element, or the stop, to each way with a free slot."""
        moved = False
        first_slot = self.slot * self.radix
        for way in range(self.fan_ins[self.slot]):
            if self.next_element[first_slot + way] <= self.last_element[first_slot + way]:
                channel: Channel = self.ways[way]
                if channel.can_push() and self._is_here(first_slot + way):
                    self._send_element(first_slot + way, channel)
                    moved = True
        return moved

    def _send_element(self, way: int, channel: Channel) -> None:
        element = self.next_element[way]
        self.next_element[way] = element + 1
        if element == self.last_element[way]:
            channel.push(STOP)
            self.unfinished_counts[self.slot] -= 1
            return
        self.merged += self.is_counted[self.slot]
        if self.areas[self.slot] == POINTS:
            channel.push(DATA, self.coordinates[element], self.source[way], self.values[element])
        else:
            self._send_partial(element, channel)

    def _send_partial(self, element: int, channel: Channel) -> None:
        area = self.areas[self.slot]
        elements: Growing = self.table.elements[area]
        sources: Growing = self.table.sources[area]
        values: Growing = self.table.values[area]
        self.partial += 1
        channel.push(DATA, elements.integer(element), sources.integer(element), values.value(element))
